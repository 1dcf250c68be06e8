package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.QueueFixture;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.objects.QueuePair;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/** Faults of the emulated ConnectX that is preloaded into this JVM; see {@code connectx_emulator.h}. */
final class EmulatedFaults implements DeviceFaults {
    /** {@code MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR}. */
    private static final int LOCAL_LENGTH_ERR = 1;
    /** {@code MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR}. */
    private static final int LOCAL_QP_OP_ERR = 2;
    /** {@code MLX5_CQE_SYNDROME_LOCAL_PROT_ERR}. */
    private static final int LOCAL_PROT_ERR = 4;
    /** A syndrome unknown to libmlx5, which reports it as a general error. */
    private static final int UNKNOWN = 0x7f;
    /** Number of members of {@code struct cxemu_counters}. */
    private static final int COUNTERS = 32;
    private static final int RECEIVED_FRAMES = 2;
    private static final int UNREPORTED_SENDS = 21;
    /** Indices of the counters no_match, no_receive, not_ready, port_down and cq_overruns. */
    private static final int[] LOSSES = {4, 5, 6, 7, 14};

    private static final SymbolLookup LIBRARY = NativeLibrary.load(System.getenv("LD_PRELOAD"));

    private final long device;

    EmulatedFaults(String deviceName) {
        device = Arena.global().allocateFrom(deviceName).address();
    }

    private static long function(String name) {
        return LIBRARY.findOrThrow(name).address();
    }

    @Override
    public void failNextCompletion(FrameQueue queue, boolean receive, int status) {
        int syndrome = switch (status) {
            case WcStatus.LOC_PROT_ERR -> LOCAL_PROT_ERR;
            case WcStatus.LOC_LEN_ERR -> LOCAL_LENGTH_ERR;
            case WcStatus.LOC_QP_OP_ERR -> LOCAL_QP_OP_ERR;
            default -> UNKNOWN;
        };
        assertEquals(0, NativeCall.status(function("cxemu_fail_next_completion"), device, number(queue, receive),
                receive ? 1 : 0, syndrome));
    }

    /**
     * Does the same for a queue number and a syndrome, {@code MLX5_CQE_SYNDROME_*}. Has no effect if the device does
     * not have the queue.
     */
    void failNextCompletionOf(int number, boolean receive, int syndrome) {
        int errno = NativeCall.status(function("cxemu_fail_next_completion"), device, number, receive ? 1 : 0,
                syndrome);
        assertTrue(errno == 0 || errno == Errno.EINVAL, () -> "errno " + errno);
    }

    @Override
    public void failQueuePair(QueuePair queuePair) {
        assertEquals(0, NativeCall.status(function("cxemu_fail_qp"), device, queuePair.number()));
    }

    @Override
    public void failWorkQueue(FrameQueue queue) {
        assertEquals(0, NativeCall.status(function("cxemu_fail_next_completion"), device, queue.workQueue().number(), 1,
                LOCAL_PROT_ERR));
    }

    /** Does the same for the next frame that arrives at the work queue, if the queue has one. */
    void failWorkQueueOf(FrameQueue queue) {
        if (QueueFixture.hasWorkQueue(queue)) {
            failWorkQueue(queue);
        }
    }

    @Override
    public void overrunCompletions(FrameQueue queue, boolean receive) {
        assertEquals(0, NativeCall.status(function("cxemu_overrun_completions"), device, number(queue, receive),
                receive ? 1 : 0));
    }

    /** Returns the device's number of the receive or send queue. */
    static int number(FrameQueue queue, boolean receive) {
        return receive ? QueueFixture.receiveQueueNumber(queue) : queue.queuePair().number();
    }

    /** Fails the next calls of a command of {@code enum ib_uverbs_write_cmds}. */
    void failCommands(int command, int errno, int count) {
        assertEquals(0, NativeCall.status(function("cxemu_fail_commands"), device, command, errno, count));
    }

    void failNoCommands() {
        failCommands(0, Errno.EINVAL, 0);
    }

    @Override
    public long lostFrames() {
        return sum(LOSSES);
    }

    /** Returns the number of frames sent by requests without a completion. */
    long unreportedSends() {
        return sum(UNREPORTED_SENDS);
    }

    long receivedFrames() {
        return sum(RECEIVED_FRAMES);
    }

    private long sum(int... places) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment counters = arena.allocate(ValueLayout.JAVA_LONG, COUNTERS);
            assertEquals(0, NativeCall.status(function("cxemu_query_counters"), device, counters.address()));
            return Arrays.stream(places).mapToLong(place -> counters.getAtIndex(ValueLayout.JAVA_LONG, place)).sum();
        }
    }

    @Override
    public void setRuleCapacity(int rules) {
        assertEquals(0, NativeCall.status(function("cxemu_set_rule_capacity"), device, rules));
    }

    @Override
    public void setPortUp(boolean up) {
        assertEquals(0, NativeCall.status(function("cxemu_set_port_up"), device, up ? 1 : 0));
    }

    @Override
    public void failDevice() {
        assertEquals(0, NativeCall.status(function("cxemu_remove_device"), device));
    }

    @Override
    public void restore() {
        assertEquals(0, NativeCall.status(function("cxemu_restore_device"), device));
        setPortUp(true);
    }
}
