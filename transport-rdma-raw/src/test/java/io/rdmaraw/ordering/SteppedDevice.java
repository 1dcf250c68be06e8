package io.rdmaraw.ordering;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;

/** The emulated ConnectX preloaded into this JVM, in step mode; see {@code connectx_emulator.h}. */
public final class SteppedDevice implements AutoCloseable {
    /** Indices of members of {@code struct cxemu_counters}. */
    public static final int NO_RECEIVE = 5;
    public static final int SEND_ERRORS = 11;
    public static final int RECEIVE_ERRORS = 12;
    public static final int CQ_OVERRUNS = 14;
    public static final int BAD_DOORBELLS = 16;
    public static final int STALE_ARMINGS = 17;
    public static final int EVENTS = 18;
    public static final int REQUEST_BYTES = 22;
    public static final int FRAME_BYTES = 23;
    public static final int FRAME_READS = 24;
    private static final int COUNTERS = 64;

    private static final SymbolLookup LIBRARY = NativeLibrary.load(System.getenv("LD_PRELOAD"));
    private static final long STEP = function("cxemu_step");
    private static final long INJECT = function("cxemu_inject");

    private final Arena arena = Arena.ofConfined();
    private final long name = arena.allocateFrom("mlx5_0").address();
    private final MemorySegment done = arena.allocate(ValueLayout.JAVA_INT);
    private final MemorySegment counters = arena.allocate(ValueLayout.JAVA_LONG, COUNTERS);

    /** Stops the device until {@link #step}. */
    public SteppedDevice() {
        check(NativeCall.status(function("cxemu_set_stepping"), name, 1));
    }

    private static long function(String function) {
        return LIBRARY.findOrThrow(function).address();
    }

    private static void check(int errno) {
        if (errno != 0) {
            throw new AssertionError("the emulated device failed with errno " + errno);
        }
    }

    /** Sets whether the device reads the doorbell records of send queues without a doorbell. */
    public void eager(boolean on) {
        check(NativeCall.status(function("cxemu_set_eager"), name, on ? 1 : 0));
    }

    /**
     * Sets how many bytes of a frame its request must contain. With 0 the device also accepts multi-packet requests.
     */
    public void minInline(int lengthBytes) {
        check(NativeCall.status(function("cxemu_set_min_inline"), name, lengthBytes));
    }

    /** Lets the device process all pending work. */
    public void step() {
        check(NativeCall.status(STEP, name, Integer.MAX_VALUE, done.address()));
    }

    /** Passes a frame to the device, as if received from the wire. */
    public void receive(MemorySegment frame) {
        check(NativeCall.status(INJECT, name, frame.address(), frame.byteSize()));
    }

    /** Returns a counter by its index. */
    public long counter(int which) {
        check(NativeCall.status(function("cxemu_query_counters"), name, counters.address()));
        return counters.getAtIndex(ValueLayout.JAVA_LONG, which);
    }

    @Override
    public void close() {
        eager(false);
        minInline(0);
        check(NativeCall.status(function("cxemu_set_stepping"), name, 0));
        arena.close();
    }
}
