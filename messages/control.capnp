# control: frames between `troupe` and the launcher that holds the program's processes.
@0xb1d3c5a7e9f10215;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::schema");

struct FromLauncher {
  union {
    started :group {
      rank @0 :UInt32;
      pid @1 :Int32;
    }
    ended :group {
      rank @2 :UInt32;
      pid @3 :Int32;
      waitStatus @4 :Int32;   # as wait(2) gives it
      cpuNs @5 :UInt64;       # user + system
      peakBytes @6 :UInt64;   # maximum resident set
    }
    failed :group {           # the program could not be started
      text @7 :Text;
      status @8 :UInt8;       # troupe::errc
    }
  }
}

struct ToLauncher {
  union {
    signal :group {           # to every rank that still lives (the whole process group)
      number @0 :Int32;
    }
    end @1 :Void;             # kill what is left and go
  }
}
