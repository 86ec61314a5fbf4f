# SPDX-License-Identifier: GPL-2.0
# The files that tests/bench/report makes, as plots. Small, so that a run's can be kept.
set datafile separator "\t"
set border 3
set tics nomirror
set key top left Left reverse samplen 1
has(f) = int(system("test -s ".f." && echo 1 || echo 0"))

# --- latency over size ---------------------------------------------------------
set terminal svg size 900,380 font "sans-serif,12" background "white"
set output "sizes.svg"
set logscale xy 2
set xtics ("64" 64, "512" 512, "4k" 4096, "64k" 65536, "1M" 1048576)
set xlabel "bytes"
set ylabel "median, microseconds"
set style data linespoints
set multiplot layout 1,2
do for [op in "write read"] {
	set title "random ".op.", QD 1"
	names = ""
	do for [w in "pmof-read nvme-rdma nvme-rdma+dsync"] {
		if (has(op."-".w.".tsv")) { names = names." ".op."-".w }
	}
	if (has("floor-".op.".tsv")) { names = names." floor-".op }
	if (strlen(names)) {
		plot for [n in names] n.".tsv" using 1:2 lw 2 title n noenhanced
	}
}
unset multiplot
unset logscale
unset xlabel
unset title
set xtics auto
set xtics rotate by 35 right noenhanced
set style data histograms
set style fill solid noborder
set boxwidth 0.7
set yrange [0:*]
set bmargin 9
set lmargin 16

# --- instructions ---------------------------------------------------------------
if (has("insn.tsv")) {
	set terminal svg size 900,420 font "sans-serif,12" background "white"
	set output "instructions.svg"
	set ylabel "guest instructions, thousands"
	set style histogram rowstacked
	plot "insn.tsv" using 2:xtic(1) title "client", "" using 3 title "server"
}

# --- the speeds to reach ----------------------------------------------------------
if (has("targets.tsv")) {
	set terminal svg size 900,420 font "sans-serif,12" background "white"
	set output "ratios.svg"
	set ylabel "ratio"
	set style histogram clustered gap 1
	set key top right
	plot "targets.tsv" using 2:xtic(1) title "measured", \
		"" using 0:3 with points pt 7 ps 0.7 lc rgb "black" title "to be reached (insn, p50: at most)"
}
