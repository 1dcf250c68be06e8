package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.util.function.LongToIntFunction;

/**
 * Controls the emulated ConnectX that is preloaded in this JVM, beyond the functions of verbs. See {@code
 * connectx_emulator.h}.
 */
final class Emulator {
    /** The device's name in rdma-core. */
    static final String DEVICE = "mlx5_0";

    private static final SymbolLookup LIBRARY = NativeLibrary.load(System.getenv("LD_PRELOAD"));
    private static final long QUERY_COUNTERS = function("cxemu_query_counters");
    private static final long FAIL_NEXT_COMPLETION = function("cxemu_fail_next_completion");
    private static final long FAIL_QP = function("cxemu_fail_qp");
    private static final long OVERRUN_CQ = function("cxemu_overrun_cq");
    private static final long SET_PORT_UP = function("cxemu_set_port_up");
    private static final long REMOVE_DEVICE = function("cxemu_remove_device");
    private static final long RESTORE_DEVICE = function("cxemu_restore_device");
    private static final long DROP_FRAMES = function("cxemu_drop_frames");
    private static final long DUPLICATE_FRAMES = function("cxemu_duplicate_frames");
    private static final long FAIL_COMMANDS = function("cxemu_fail_commands");

    /** The counters of {@code struct cxemu_counters}, in its order. */
    enum Counter {
        SENT_FRAMES, SENT_BYTES, RECEIVED_FRAMES, RECEIVED_BYTES, NO_MATCH, NO_RECEIVE, NOT_READY, PORT_DOWN, WIRE_LOST,
        DROPPED_BY_TEST, DUPLICATED_BY_TEST, SEND_ERRORS, RECEIVE_ERRORS, FLUSHED, CQ_OVERRUNS, DOORBELLS,
        BAD_DOORBELLS, STALE_ARMINGS, EVENTS, FOREIGN_MAC, SELF_LOOPBACK_BLOCKED, UNREPORTED_SENDS, REQUEST_BYTES,
        FRAME_BYTES, FRAME_READS
    }

    /** Upper limit of the number of counters. The emulator writes its whole struct, which may grow. */
    private static final int COUNTERS = 64;

    private Emulator() {
    }

    private static long function(String name) {
        return LIBRARY.find(name).orElseThrow().address();
    }

    private static void call(LongToIntFunction function) {
        try (Arena arena = Arena.ofConfined()) {
            assertEquals(0, function.applyAsInt(arena.allocateFrom(DEVICE).address()), "errno");
        }
    }

    static long count(Counter counter) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment counters = arena.allocate(ValueLayout.JAVA_LONG, COUNTERS);
            call(device -> NativeCall.status(QUERY_COUNTERS, device, counters.address()));
            return counters.getAtIndex(ValueLayout.JAVA_LONG, counter.ordinal());
        }
    }

    /** Makes the next send or receive of a queue complete with an error CQE with this syndrome. */
    static void failNextCompletion(int queueNumber, boolean receive, int syndrome) {
        call(device -> NativeCall.status(FAIL_NEXT_COMPLETION, device, queueNumber, receive ? 1 : 0, syndrome));
    }

    static void failQueuePair(int number) {
        call(device -> NativeCall.status(FAIL_QP, device, number));
    }

    static void overrunCompletionQueue(int number) {
        call(device -> NativeCall.status(OVERRUN_CQ, device, number));
    }

    static void setPortUp(boolean up) {
        call(device -> NativeCall.status(SET_PORT_UP, device, up ? 1 : 0));
    }

    static void removeDevice() {
        call(device -> NativeCall.status(REMOVE_DEVICE, device));
    }

    static void restoreDevice() {
        call(device -> NativeCall.status(RESTORE_DEVICE, device));
    }

    static void dropFrames(int frames) {
        call(device -> NativeCall.status(DROP_FRAMES, device, frames));
    }

    static void duplicateFrames(int frames) {
        call(device -> NativeCall.status(DUPLICATE_FRAMES, device, frames));
    }

    /** Makes the next commands of this number in {@code enum ib_uverbs_write_cmds} fail. */
    static void failCommands(int command, int errno, int count) {
        call(device -> NativeCall.status(FAIL_COMMANDS, device, command, errno, count));
    }
}
