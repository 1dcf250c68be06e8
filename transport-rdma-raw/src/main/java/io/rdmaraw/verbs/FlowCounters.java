package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import java.lang.foreign.Arena;

/** Counts the packets and bytes that flow rules match ({@code struct ibv_counters}). Thread-safe. */
public final class FlowCounters extends VerbsObject {
    private static final int PACKETS = 0;
    private static final int BYTES = 1;
    private static final int COUNT = 2;
    private static final int INIT_ATTR_SIZE_BYTES = 4;

    private final VerbsContext context;

    private FlowCounters(VerbsContext context, long counters) {
        super(context.lifecycle, counters, context);
        this.context = context;
    }

    static FlowCounters create(VerbsContext context) {
        long function = context.requiredExtension(VerbsContextLayout.CREATE_COUNTERS_OFFSET, "ibv_create_counters");
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(INIT_ATTR_SIZE_BYTES, Long.BYTES).address();
            FlowCounters counters = new FlowCounters(context,
                    VerbsContext.made("ibv_create_counters", NativeCall.pointer(function, context.openAddress(), attr),
                            ""));
            try {
                counters.attach(PACKETS);
                counters.attach(BYTES);
            } catch (RuntimeException e) {
                counters.close();
                throw e;
            }
            return counters;
        }
    }

    /** Attaches one kind of count to the place of the same number; must happen before a rule uses the counters. */
    private void attach(int kind) {
        long function = context.requiredExtension(VerbsContextLayout.ATTACH_COUNTERS_POINT_FLOW_OFFSET,
                "ibv_attach_counters_point_flow");
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(CounterAttachAttrLayout.SIZE_BYTES, Long.BYTES).address();
            NativeMemory.putInt(attr + CounterAttachAttrLayout.COUNTER_DESC_OFFSET, kind);
            NativeMemory.putInt(attr + CounterAttachAttrLayout.INDEX_OFFSET, kind);
            VerbsException.check("ibv_attach_counters_point_flow", NativeCall.status(function, openAddress(), attr, 0),
                    "");
        }
    }

    /** Asks the device how many packets the rules have matched. */
    public long packets() {
        return read(PACKETS);
    }

    /** Asks the device how many bytes the rules have matched. */
    public long bytes() {
        return read(BYTES);
    }

    private long read(int kind) {
        long function = context.requiredExtension(VerbsContextLayout.READ_COUNTERS_OFFSET, "ibv_read_counters");
        try (Arena arena = Arena.ofConfined()) {
            long values = arena.allocate((long) COUNT * Long.BYTES, Long.BYTES).address();
            VerbsException.check("ibv_read_counters", NativeCall.status(function, openAddress(), values, COUNT, 0), "");
            return NativeMemory.getLong(values + (long) kind * Long.BYTES);
        }
    }

    @Override
    int destroy(long counters) {
        return NativeCall.status(context.requiredExtension(VerbsContextLayout.DESTROY_COUNTERS_OFFSET,
                "ibv_destroy_counters"), counters);
    }

    @Override
    String destroyCall() {
        return "ibv_destroy_counters";
    }
}
