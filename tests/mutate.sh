# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # build is set by who takes this in
#
# What tests/vm/mutate and tests/chaos/mutate have in common: each mutation of a list is applied to a
# copy of the tree, and something must notice it. Who takes this in is at the tree's top, sets build and
# gives two functions:
#   run KEY1 KEY2 LOG    true if all is well with the copy in $build/tree as it is
#   noticed KEY1 LOG     prints what in the log of a run that failed shows that the mutation was
#                        noticed, not only that something went wrong; false if nothing does

# Only what differs is written, and is newer then than what was built of it, the last mutation's file as
# well.
copy_tree() {
	git ls-files --cached --others --exclude-standard |
		rsync -rlp --checksum --files-from=- . "$build/tree"
}

# green KEY1 KEY2: true if all is well without a mutation; asked once. Else a red run says nothing.
declare -A as_it_is
green() {
	local key=$1-${2//\//-}
	[[ -n ${as_it_is[$key]:-} ]] || { run "$1" "$2" "$build/$key.log"; as_it_is[$key]=$?; }
	return "${as_it_is[$key]}"
}

# judge NUMBER KEY1 KEY2 FILE EXPRESSION: prints what came of it; false if nothing noticed the mutation.
judge() {
	local log=$build/$1.log
	copy_tree
	if ! green "$2" "$3"; then
		echo "red without it: $build/$2-${3//\//-}.log"
		return 1
	fi
	sed -i -e "$5" "$build/tree/$4"
	if cmp -s "$4" "$build/tree/$4"; then
		echo "changes nothing"
		return 1
	fi
	if run "$2" "$3" "$log" || ! noticed "$2" "$log"; then
		echo "not noticed, or not built: $log"
		return 1
	fi
}

# mutate LIST [NUMBER]...: all of them, or these; TAP, and true if each was noticed.
mutate() {
	local list=$1 number=0 passed=0 failed=0 verdict one two file expression text
	shift
	# What is no longer in the tree would be built.
	rm -rf "$build/tree"
	mkdir -p "$build/tree"
	# Not in a subshell: the answers of green are kept.
	while IFS=@ read -r one two file expression text; do
		[[ -n $one && $one != \#* ]] || continue
		number=$((number + 1))
		[[ $# == 0 || " $* " == *" $number "* ]] || continue
		if judge "$number" "$one" "$two" "$file" "$expression" >"$build/verdict" </dev/null; then
			verdict=ok passed=$((passed + 1))
		else
			verdict="not ok" failed=$((failed + 1))
		fi
		echo "$verdict $number - ${file##*/}: $text ($(head -n 1 "$build/verdict"))"
	done <"$list"
	echo "1..$number"
	echo "$passed passed, $failed failed"
	((failed == 0))
}
