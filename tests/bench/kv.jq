# SPDX-License-Identifier: GPL-2.0
#
# Functions of tests/bench/kv.

include "report";

# --- from turns to figures -------------------------------------------------------------

# The work of one operation, as both sides have counted it.
def counts:
  .result.per_op as $p
  | {work_requests: $p.client.work_requests, round_trips: $p.client.round_trips,
     server_calls: $p.server.rpc_calls, copied: $p.store.copied, stored: $p.store.stored,
     placed: $p.client.bytes_put, read: $p.client.bytes_got, lines: $p.store.lines,
     fences: $p.store.fences};

def times:
  {handler_ns: .result.per_op.store.handler_ns, latency_ns: .result.ops[0].latency_ns.median};

# Of one operation, size and contestant; the counts are the median turn's.
def contestant:
  {op: .[0].op, bytes: .[0].bytes, who: .[0].who, emulated: .[0].emulated,
   counts: (map(counts) | [.[] | to_entries[]] | group_by(.key)
            | map({key: .[0].key, value: (map(.value) | median)}) | from_entries),
   times: (map(times) | {handler_ns: (map(.handler_ns) | median),
                         latency_ns: (map(.latency_ns) | median)}),
   least: (map(times) | {handler_ns: (map(.handler_ns) | min),
                         latency_ns: (map(.latency_ns) | min)}),
   each: (map({key: (.round | tostring), value: times}) | from_entries)};

# Herd over sa: of each round, and of the least of each, since what disturbs only adds.
def ratio($all; $medium; $bytes; $figure):
  ($all[] | select(.op == "put" and .bytes == $bytes and .who == "\($medium)-herd")) as $a
  | ($all[] | select(.op == "put" and .bytes == $bytes and .who == "\($medium)-sa")) as $b
  | [$a.each | keys[] | $a.each[.][$figure] / $b.each[.][$figure]]
  | {median: median, q1: quartile(1), q3: quartile(3),
     least: ($a.least[$figure] / $b.least[$figure])};

def figures_of:
  map(select(.round > 0)) | group_by([.op, .bytes, .who]) | map(contestant) as $all
  | {contestants: $all,
     ratios: [($all | map(.bytes) | unique[]) as $bytes | ("plain", "emulated") as $medium
       | {bytes: $bytes, medium: $medium, herd_by: (first($all[] | select(.op == "put" and
            .bytes == $bytes and .who == "\($medium)-herd")) | if .counts.placed > 0 then "sa" else "herd" end),
          handler: ratio($all; $medium; $bytes; "handler_ns"),
          latency: ratio($all; $medium; $bytes; "latency_ns")}]};

# --- tables ------------------------------------------------------------------------------

def size_text: if . < 1024 then "\(.) B" else "\(. / 1024) KiB" end;

def count_text: if . == (. | round) then "\(.)" else fixed(2) end;

# A put that no message holds has gone by sa: it says nothing of herd.
def count_rows:
  [["operation", "value", "work requests", "round trips", "handler calls", "bytes copied by the CPU",
    "bytes to PMEM: by the CPU", "by the HCA", "lines", "fences"]]
  + (.contestants | map(select(.emulated | not))
     | map(select((.who == "plain-herd" and .counts.placed > 0) | not))
     | sort_by([.who, .bytes])
     | map([(.who | ltrimstr("plain-") | if . == "get" then . else "put, \(.)" end),
            (.bytes | size_text)]
           + (.counts | [.work_requests, .round_trips, .server_calls, .copied, .stored, .placed,
                         .lines, .fences] | map(count_text))));

def ratio_text: "\(.median | fixed(2)) (\(.q1 | fixed(2))-\(.q3 | fixed(2)))";

def least_text: .least | fixed(2);

def time_of($all; $bytes; $medium; $protocol; $figure):
  first($all[] | select(.op == "put" and .bytes == $bytes and .who == "\($medium)-\($protocol)"))
  | .least[$figure] / 1000 | fixed(0);

def time_rows($medium):
  .contestants as $all
  | [["value", "handler: herd / sa (q1-q3)", "of the least", "herd us", "sa us",
      "whole put: herd / sa (q1-q3)", "of the least", "herd us", "sa us"]]
  + (.ratios | map(select(.medium == $medium and .herd_by == "herd")
     | [(.bytes | size_text), (.handler | ratio_text), (.handler | least_text),
        time_of($all; .bytes; $medium; "herd"; "handler_ns"),
        time_of($all; .bytes; $medium; "sa"; "handler_ns"),
        (.latency | ratio_text), (.latency | least_text),
        time_of($all; .bytes; $medium; "herd"; "latency_ns"),
        time_of($all; .bytes; $medium; "sa"; "latency_ns")]));

def table($format): if $format == "markdown" then markdown_table else text_table end;

def tables($format):
  "Linux \(.kernel); \(.qemu); one CPU a VM; \(.rounds) rounds of \(.puts) puts",
  "", "For one operation:", "", (count_rows | table($format)),
  "", "The medium as it is:", "", (time_rows("plain") | table($format)),
  "", "EMULATED medium, \(.emulate) (ns for each fence, MB/s):", "",
  (time_rows("emulated") | table($format));
