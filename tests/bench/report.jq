# SPDX-License-Identifier: GPL-2.0
#
# Functions of tests/bench/report.

# Between two values, in proportion.
def quantile(q): sort | if length == 0 then null
  else ((length - 1) * q) as $at | ($at | floor) as $i
    | .[$i] + (if $i + 1 < length then (.[$i + 1] - .[$i]) * ($at - $i) else 0 end) end;
def median: quantile(0.5);
def quartile(n): quantile(n / 4);

# --- from what the programs print to one record for each round ---------------------

# fio's JSON of a case; jobs are called WHO:ROUND, round 0 is the warm-up.
def fio_rounds($case):
  .jobs[]
  | (.jobname | split(":")) as [$who, $round]
  | if .error != 0 then error("fio: \($case) \(.jobname): error \(.error)") else . end
  | select($round != "0")
  | (if .read.total_ios > .write.total_ios then .read else .write end) as $io
  | if $io.total_ios == 0 then error("fio: \($case) \(.jobname): no I/O at all") else . end
  | {case: $case, who: $who, round: ($round | tonumber), iops: $io.iops,
     p50: $io.clat_ns.percentile["50.000000"], p99: $io.clat_ns.percentile["99.000000"]};

# Lines of the plugin, "begin|end NUMBER SERVER-USER SERVER-KERNEL CLIENT-USER CLIENT-KERNEL",
# as {NUMBER: {server_user: ..., ...}}.
def mark_differences:
  [splits("\n") | select(length > 0) | split(" ")]
  | group_by(.[1])
  | map(select(length == 2)
      | (map(select(.[0] == "begin"))[0][2:] | map(tonumber)) as $b
      | (map(select(.[0] == "end"))[0][2:] | map(tonumber)) as $e
      | {key: .[0][1],
         value: {server: ($e[0] + $e[1] - $b[0] - $b[1]), client_user: ($e[2] - $b[2]),
                 client_kernel: ($e[3] - $b[3])}})
  | from_entries;

# Per operation, minus what runs in the same time on idle VMs. The least of the rounds: what
# disturbs only adds.
def instructions($turns; $marks):
  ($turns | map(select(.case == "insn-idle") | $marks[.turn | tostring] as $m
     | {server: ($m.server / .seconds), client: (($m.client_user + $m.client_kernel) / .seconds)})) as $idle
  | ($idle | map(.server) | median) as $server_idle
  | ($idle | map(.client) | median) as $client_idle
  | $turns | map(select(.case != "insn-idle")) | group_by([.case, .who])
  | map({case: .[0].case, who: .[0].who, rounds: length}
      + (map(. as $t | $marks[.turn | tostring]
          | {server: ((.server - $server_idle * $t.seconds) / $t.ops),
             client: ((.client_user + .client_kernel - $client_idle * $t.seconds) / $t.ops)}
          | map_values(floor) | . + {both: (.server + .client)})
         | min_by(.both)));

# --- figures -------------------------------------------------------------------------

def figures:
  group_by([.case, .who])
  | map({case: .[0].case, who: .[0].who, rounds: length,
         iops: (map(.iops) | median), iops_q1: (map(.iops) | quartile(1)),
         iops_q3: (map(.iops) | quartile(3)), p50: (map(.p50) | median),
         p99: (map(.p99) | median),
         each: (sort_by(.round) | map({key: (.round | tostring), value: {iops, p50}}) | from_entries)});

# Rounds that both have, as ratios.
def round_ratios($a; $b; $figure):
  [$a.each | to_entries[] | .key as $k | select($b.each[$k]) | .value[$figure] / $b.each[$k][$figure]];

def get($all; $case; $who): $all[] | select(.case == $case and .who == $who);

def of($figure): if $figure == "insn" then .both else .[$figure] end;

# One line of the file of targets, against the results.
def judge($results; $insn):
  . as $t
  | (if .figure == "insn" then $insn else $results end) as $all
  | [.a[] as $who | get($all; $t.a_case; $who)] as $ours
  | [get($all; .b_case; .b)] as $theirs
  | if ($ours | length) == 0 or ($theirs | length) == 0 then . + {ratio: null, met: null}
    else
      (if .figure == "iops" then $ours | max_by(.iops) else $ours | min_by(of($t.figure)) end) as $a
      | $theirs[0] as $b
      | (if .figure == "insn" then [] else round_ratios($a; $b; .figure) end) as $rounds
      | . + {best: $a.who, a_value: ($a | of($t.figure)), b_value: ($b | of($t.figure)),
             ratio: (($a | of($t.figure)) / ($b | of($t.figure))),
             q1: ($rounds | quartile(1)), q3: ($rounds | quartile(3))}
      | . + {met: (if .op == ">=" then .ratio >= .target else .ratio <= .target end)}
    end;

# "what | figure | case of A | A/A... | case of B | B | >= 2.2"
def read_targets:
  [splits("\n") | select(length > 0 and (startswith("#") | not)) | split(" *\\| *"; null)
   | (.[6] | split(" ")) as [$op, $target]
   | {what: .[0], figure: .[1], a_case: .[2], a: (.[3] | split("/")), b_case: .[4], b: .[5],
      op: $op, target: ($target | tonumber)}];

# --- tables ---------------------------------------------------------------------------

def fixed(n): if . == null then "-" else (. * pow(10; n) | round) as $v
  | ($v / pow(10; n) | tostring) as $s
  | if n == 0 then $s
    else ($s | split(".")) as [$i, $f] | "\($i).\((($f // "") + "000000")[0:n])" end end;

def op_text: if . == ">=" then "at least" else "at most" end;

def verdict: if .met == null then "not measured" elif .met then "yes" else "NO" end;

def value_text($figure): if . == null then "-" elif $figure == "p50" then "\(. / 1000 | fixed(0)) us"
  elif $figure == "insn" then "\(. / 1000 | fixed(1))k" else fixed(0) end;

# Rows of strings: the speeds to reach.
def target_rows:
  [["case", "by", "A", "B", "ratio", "q1-q3", "target", "met"]]
  + (.targets | map([.what, (.best // "-" | sub("^pmof-"; "")), (.figure as $f | .a_value | value_text($f)),
       (.figure as $f | .b_value | value_text($f)), (.ratio | fixed(2)),
       (if .q1 == null then "-" else "\(.q1 | fixed(2))-\(.q3 | fixed(2))" end),
       "\(.op | op_text) \(.target)", verdict]));

# Whom a case's others are compared with.
def reference: ([.[] | select(.who == "nvme-rdma")] + [.[] | select(.who == "nvme-rdma+fsync")]
  + [.[] | select(.who == "floor-read")] + .)[0];

def case_rows:
  [["case", "who", "IOPS", "q1-q3", "median us", "p99 us", "ratio"]]
  + (.order as $order | .results | group_by(.case)
     | sort_by(.[0].case as $c | $order | index($c) // 999)
     | map(reference as $r | sort_by(-.iops) | .[]
         | [.case, .who, (.iops | fixed(0)), "\(.iops_q1 | fixed(0))-\(.iops_q3 | fixed(0))",
            (.p50 / 1000 | fixed(0)), (.p99 / 1000 | fixed(0)),
            (.iops / $r.iops | fixed(2)) + (if .who == $r.who then " *" else "" end)]));

def insn_rows:
  [["case", "who", "client", "server", "both"]]
  + (.insn | map([.case, .who, (.client / 1000 | fixed(1)), (.server / 1000 | fixed(1)),
                  (.both / 1000 | fixed(1))]));

def pad(n): . + (" " * ([n - length, 0] | max) // "");

def text_table:
  . as $rows
  | [range($rows[0] | length) as $i | $rows | map(.[$i] | length) | max] as $width
  | map([range(length) as $i | .[$i] | pad($width[$i])] | join("  ") | sub(" +$"; "")) | join("\n");

def markdown_table:
  map("| " + join(" | ") + " |")
  | [.[0], (.[0] | [match("\\|"; "g")] | length - 1 | "|" + "---|" * .)] + .[1:] | join("\n");
