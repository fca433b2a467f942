# SPDX-License-Identifier: BSD-3-Clause
"""coverage.py LINES_JSON FOLDER LINES: test/coverage.sh's table, from gcovr's counts of each line."""
import json
import sys


def ranges(numbers):
    """[1, 2, 3, 7] -> '1-3 7'"""
    runs = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ' '.join(str(a) if a == b else f'{a}-{b}' for a, b in runs)


def main(path, folder, with_lines):
    rows, missed = {}, {}
    for file in json.load(open(path))['files']:
        name = file['file']
        if not name.startswith(folder):
            continue
        counts = {}
        for line in file['lines']:
            if not line.get('gcovr/noncode'):
                n = line['line_number']
                counts[n] = max(counts.get(n, 0), line['count'])
        row = name if folder else name.rsplit('/', 1)[0]
        total, ran = rows.get(row, (0, 0))
        rows[row] = total + len(counts), ran + sum(c > 0 for c in counts.values())
        missed[name] = [n for n, c in sorted(counts.items()) if not c]
    if not rows:
        sys.exit(f'test/coverage: no line is counted below {folder or "the product"}: run the suites first')
    rows['all'] = tuple(map(sum, zip(*rows.values())))
    width = max(map(len, rows))
    print(f'{"FOLDER" if not folder else "FILE":{width}}  LINES    RAN  SHARE')
    for row, (total, ran) in rows.items():
        print(f'{row:{width}} {total:6} {ran:6} {100 * ran / max(total, 1):5.1f}%')
    if with_lines:
        for name, numbers in missed.items():
            if numbers:
                print(f'{name}: {ranges(numbers)}')


main(sys.argv[1], sys.argv[2], sys.argv[3] == '1')
