// SPDX-License-Identifier: Apache-2.0
// Commands that hand files to each other: measurements are made, sorted each for itself, and merged.
//
//     fluvial run -n 3 pipeline.swift
import files;
import string;

app (file o) measured(int seed) {
  "awk" "-v" strcat("seed=", seed)
        "BEGIN { srand(seed); for (i = 0; i < 50; ++i) printf(\"%06.3f\\n\", 100 * rand()) }"
        @stdout=o;
}
app (file o) sorted(file i) { "sort" i @stdout=o; }
app (file o) merged(file parts[]) { "sort" "-m" parts @stdout=o; }

file parts[];
foreach seed in [1:4] {
  parts[seed] = sorted(measured(seed));
}
file all <"results/all.txt"> = merged(parts);

string lines[] = file_lines(all);
printf("%i values in %s", size(lines), filename(all));
foreach i in [1:size(lines) - 1] {
  assert(lines[i - 1] <= lines[i], "the values are in order");
}
