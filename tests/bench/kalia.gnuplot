# SPDX-License-Identifier: GPL-2.0
# kalia.tsv -> kalia.svg: counts, and ratios of median and p99 to the plain write.
set terminal svg size 900,640 font "sans-serif,12" background "white"
set output "kalia.svg"
set datafile separator "\t"
methods = system("cut -f2 kalia.tsv | sed 1d | awk '!seen[$0]++' | tr '\\n' ' '")
of(m) = sprintf("< head -n 1 kalia.tsv; awk -F'\\t' '$2 == \"%s\"' kalia.tsv", m)

set multiplot layout 2,2
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.8 border -1
set boxwidth 0.9
set grid ytics
set yrange [0:*]
set key top left horizontal samplen 1
set xlabel "bytes"

set title "Packets of one put"
plot for [m in methods] of(m) using "packets":xtic(1) title m
set title "Work requests of one put"
plot for [m in methods] of(m) using "work_requests":xtic(1) title m
set title "Median latency, ratio to write"
plot for [m in methods] of(m) using "median_ratio":xtic(1) title m
set title "99th percentile, ratio to write"
plot for [m in methods] of(m) using "p99_ratio":xtic(1) title m
unset multiplot
