# wire: the frames between a rank's process (libtroupe_client.so) and its rank_port. docs/wire_protocol.md is the prose.
#
# Every request that is answered later has an operation id of its process' own counting; the upper 16 bits say which of the
# process' logical ranks makes it (0: the lead, n: its n-th companion; messages/companions.hpp). Answers that let user
# code go on (granted, completed, stored) arrive only while the rank holds a slot.
@0xb1d3c5a7e9f10214;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::schema");

const wireVersion :UInt32 = 2;

struct Region {            # a piece of a payload pool: 0 = memory, 1 = the spill file
  pool @0 :UInt32;
  offset @1 :UInt64;       # of the first payload byte
  length @2 :UInt64;
  header @3 :UInt64;       # of the region's header (64 bytes): a slice of a larger region keeps that region's header
}

struct Payload {
  union {
    none @0 :Void;
    inline @1 :Data;
    region @2 :Region;
  }
}

struct Call {
  operation @0 :UInt8;     # troupe::operation
  type @1 :UInt8;          # troupe::element_type
  reduction @2 :UInt8;     # troupe::reduction
  count @3 :UInt64;
  root @4 :Int32;
  tag @5 :Int32;
  sendCounts @6 :List(UInt64);
  recvCounts @7 :List(UInt64);
  batched @8 :Bool;        # send, recv: within a group of calls
}

struct ToTroupe {
  union {
    hello :group {         # first frame of a connection
      version @0 :UInt32;
      rank @1 :UInt32;
      pid @2 :Int32;
    }
    takeSlot @3 :Void;     # answered by granted: before user code runs, after a sleep, after the slot was lost
    openCommunicator :group {
      communicator @4 :UInt64;
      members @5 :List(UInt32);
      ordinal @6 :UInt32;
      semantics @7 :UInt8;
      name @8 :Text;
      companion @36 :UInt16;   # which of the process' ranks opens it: it is a rank from then on
    }
    callSite :group {      # before its first use
      id @9 :UInt32;
      text @10 :Text;
    }
    issue :group {         # answered by completed
      operationId @11 :UInt64;
      communicator @12 :UInt64;
      sequence @13 :UInt64;    # collectives; 0 for send and recv
      call @14 :Call;
      payload @15 :Payload;
      callSite @16 :UInt32;
      asFuture @17 :Bool;
      atNs @18 :UInt64;        # CLOCK_MONOTONIC
    }
    blocked :group {       # every thread that calls us waits: for any of these operations, or sleeps (none)
      reason @19 :UInt8;       # troupe::release_reason
      operations @20 :List(UInt64);
      atNs @21 :UInt64;
      threads @33 :List(Int32);   # of this process, that wait for them; ours that only read among them
      takesSignals @34 :Bool;     # the leading thread waits where handlers of Python's still run
    }
    awaited :group {       # these were waited for or found complete: edges of the graph
      operations @22 :List(UInt64);
      atNs @23 :UInt64;
    }
    yielded :group {       # answered by granted, after others had their turn
      atNs @24 :UInt64;
    }
    lease :group {         # answered by leased
      operationId @25 :UInt64;
      size @26 :UInt64;
    }
    store :group {         # answered by stored
      operationId @27 :UInt64;
      request @28 :StoreRequest;
    }
    mark :group {
      kind @29 :UInt8;         # troupe::marker_kind
      atNs @30 :UInt64;
    }
    futureTaken :group {   # the operation's completion may be observed where the client cannot see it
      operationId @31 :UInt64;
    }
    leave @32 :Void;       # the program ended in order; nothing follows
    abortCommunicator :group {   # its operations that are not done fail, and later ones: for all members
      communicator @35 :UInt64;
      companion @37 :UInt16;
    }
    copied :group {        # a copy between a device and the host, on a host device
      size @38 :UInt64;
      durationNs @39 :UInt64;  # on the device
      atNs @40 :UInt64;        # when the program asked for it
    }
  }
}

struct StoreRequest {
  kind @0 :Kind;
  keys @1 :List(Text);     # wait, check: any number; numKeys, listKeys: a prefix or none; else one
  value @2 :Data;          # set, append, push, compareSet (desired)
  expected @3 :Data;       # compareSet
  amount @4 :Int64;        # add; pop: 1 to wait for an element
  timeoutNs @5 :UInt64;    # get, wait, pop; 0: none

  enum Kind {
    set @0; get @1; add @2; check @3; wait @4; deleteKey @5; compareSet @6; numKeys @7; append @8;
    listKeys @9; push @10; pop @11; queueLength @12;
  }
}

struct ToRank {
  union {
    welcome :group {       # answers hello; carries the pools' descriptors (SCM_RIGHTS), in the pools' order
      world @0 :UInt32;
      slots @1 :UInt32;
      poolSizes @2 :List(UInt64);
      rankPageOffset @3 :UInt64;   # in pool 0: this rank's page (docs/wire_protocol.md)
      inlineLimit @4 :UInt32;      # bytes
      startNs @5 :UInt64;          # the run's start on CLOCK_MONOTONIC
    }
    refused :group {       # answers hello; the connection closes
      text @6 :Text;
    }
    granted @7 :Void;
    completed :group {
      operationId @8 :UInt64;
      status @9 :UInt8;            # troupe::errc; 0 = done
      text @10 :Text;              # why not
      pieces @11 :List(Payload);   # the result, in order; each `none` piece is empty
      source @12 :Int32;           # recv: the sender's group rank
    }
    leased :group {
      operationId @13 :UInt64;
      status @14 :UInt8;
      text @15 :Text;
      region @16 :Region;          # an extent of raw pool memory, the rank's until the run ends
    }
    stored :group {
      operationId @17 :UInt64;
      status @18 :UInt8;           # timed_out: the request's own timeout
      text @19 :Text;
      value @20 :Data;             # get, compareSet, pop; listKeys: each key with a zero byte behind
      number @21 :Int64;           # add: the sum; check, deleteKey, pop: 0 or 1; numKeys, queueLength
    }
  }
}
