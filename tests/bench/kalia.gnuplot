# SPDX-License-Identifier: GPL-2.0
# kalia.tsv -> kalia.svg: counts of a 64-byte put, and ratios of median and 99th
# percentile to the plain write. Small, so that a run's plot can be kept.
set terminal svg size 900,340 font "sans-serif,12" background "white"
set output "kalia.svg"
set datafile separator "\t"
methods = system("cut -f2 kalia.tsv | sed 1d | awk '!seen[$0]++' | tr '\\n' ' '")
of(m) = sprintf("< head -n 1 kalia.tsv; awk -F'\\t' '$2 == \"%s\"' kalia.tsv", m)
smallest = "< awk -F'\\t' 'NR == 1 || $1 == 64' kalia.tsv"

set multiplot layout 1,3
set yrange [0:*]
set border 3
set tics nomirror
set key top left Left reverse samplen 1

set ytics 1
set title "Counts of one 64-byte put"
set yrange [0:9]
set style data histograms
set style histogram clustered gap 1
set style fill solid noborder
plot for [c in "work_requests packets round_trips"] smallest using c:xtic(2) title c noenhanced

set ytics 0.5
set title "Median latency, ratio to write"
set yrange [0:*]
set key bottom right
set style data linespoints
set logscale x 2
set xtics (64, 128, 256, 512, 1024)
set xlabel "bytes"
plot for [m in methods] of(m) using "size":"median_ratio" lw 2 title m
unset key
set ytics 1
# What lies above is not drawn: one disturbed round would flatten the rest.
set yrange [0:*<6]
set title "99th percentile, ratio to write"
plot for [m in methods] of(m) using "size":"p99_ratio" lw 2 title m
unset multiplot
