# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # the files share variables
#
# lab --trace: with the plugin of tests/crash; lab --plugin: with another. Both want QEMU 10.

prepare_plugin() {
	[[ -n $opt_plugin ]] || return 0
	[[ -z $opt_trace ]] || usage_error "--plugin and --trace exclude each other"
	[[ -f ${opt_plugin%%,*} ]] || usage_error "--plugin: no ${opt_plugin%%,*}"
}

prepare_trace() {
	[[ -n $opt_trace ]] || return 0
	[[ -z $opt_shell ]] || usage_error "--trace wants scripts, not --shell"
	make -s -C "$repo" trace-plugin >"$run/plugin.log" 2>&1 </dev/null ||
		{ cat "$run/plugin.log" >&2; die "cannot build the plugin"; }
	plugin=$(realpath "$(make -s -C "$repo" print-trace-plugin)")
	mkdir -p "$opt_trace"
	opt_trace=$(cd "$opt_trace" && pwd)
	rm -f "$opt_trace"/*.trace "$opt_trace"/start*.img
	[[ -n $opt_nvdimm ]] || rm -f "$opt_trace/nvdimm"
	opt_nvdimm=${opt_nvdimm:-$opt_trace/nvdimm}
	find_nvdimm_base
}

# The lab says where the nvdimm is, and QEMU refuses what is not in its area for
# such devices: that begins at 4 GiB plus the memory above them, and has a GiB for
# each slot to spare. Hence the next whole GiB behind the VM's memory is in it.
find_nvdimm_base() {
	local gib=0x40000000
	nvdimm_base=$(printf '%#x' $((0x100000000 + ($(bytes "$opt_memory") + gib - 1) / gib * gib)))
}

# trace_name VM: what its files are called, in its present boot.
trace_name() {
	local boot=${vm_boot[$1]}
	if ((boot == 1)); then echo "$1"; else echo "$1.$boot"; fi
}

trace_args() {
	local name spec
	name=$(trace_name "$1")
	spec=$plugin,trace=$opt_trace/$name.trace
	if [[ $1 == server ]]; then
		cp --sparse=always "$nvdimm" "$opt_trace/${name/server/start}.img"
		spec+=,base=$nvdimm_base,size=$nvdimm_size
	fi
	args+=(-plugin "$spec")
}

# What the plugin could not model makes the trace worthless.
check_traces() {
	local complaint
	[[ -n $opt_trace ]] || return 0
	complaint=$(grep -h -m 1 '^pmof-trace:' "$run"/*.qemu) || return 0
	failures+=("the trace: ${complaint#pmof-trace: }")
}
