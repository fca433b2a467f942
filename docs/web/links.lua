-- SPDX-License-Identifier: BSD-3-Clause
-- Links between Markdown files become links between pages: README.md is its folder's index.html.
function Link(link)
  local path, anchor = link.target:match("^([^#]*)(#?.*)$")
  if path:match("^%a+:") then
    return nil
  end
  path = path:gsub("README%.md$", "index.html"):gsub("%.md$", ".html"):gsub("/$", "/index.html")
  link.target = path .. anchor
  return link
end
