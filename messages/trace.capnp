# trace: the records of a PrismTrace file, one message a record. docs/trace_format.md is the prose.
@0xb1d3c5a7e9f10216;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::schema");

const traceVersion :UInt32 = 1;

struct TraceRecord {
  union {
    header @0 :TraceHeader;     # the first record, once
    chunk @1 :TraceChunk;       # all others
  }
}

struct TraceHeader {
  version @0 :UInt32;
  world @1 :UInt32;
  stage @2 :UInt8;              # troupe::graph_stage
  metadata @3 :List(Pair);

  struct Pair {
    key @0 :Text;
    value @1 :Text;
  }
}

struct TraceChunk {
  kind @0 :UInt8;               # 0 nodes, 1 slot intervals, 2 communicators, 3 call sites, 4 index, 5 ranks
  rank @1 :UInt32;              # nodes: whose
  first @2 :UInt32;             # number of the first entry (of the rank, of the table)
  count @3 :UInt32;             # entries in this chunk
  columns @4 :List(Column);     # by kind, in the order docs/trace_format.md gives

  struct Column {
    codec @0 :UInt8;            # 0 as it is, 1 zstd
    rawSize @1 :UInt32;         # bytes once unpacked
    data @2 :Data;
  }
}
