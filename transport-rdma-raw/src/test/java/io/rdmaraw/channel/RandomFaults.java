package io.rdmaraw.channel;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.queue.VerbsFrameQueue;
import java.util.Random;

/** Faults of an emulated card's queues and of the kernel's driver, by chance. */
final class RandomFaults {
    /** {@code IB_USER_VERBS_CMD_MODIFY_QP}. */
    static final int MODIFY_QP = 26;
    private static final int CREATE_CQ = 18;
    private static final int CREATE_QP = 24;
    /** {@code IB_USER_VERBS_CMD_FLAG_EXTENDED}. */
    private static final int EXTENDED = 1 << 31;
    /** {@code IB_USER_VERBS_EX_CMD_CREATE_FLOW}. */
    static final int CREATE_FLOW = 50 | EXTENDED;
    /** Those of a recovery. */
    static final int[] COMMANDS = {MODIFY_QP, CREATE_CQ, CREATE_QP, CREATE_CQ | EXTENDED, CREATE_QP | EXTENDED,
        CREATE_FLOW};
    /** {@code EREMOTEIO}. */
    private static final int REMOTE_IO = 121;
    /** What {@code mlx5_cmd_check} of the kernel's mlx5_core makes of the firmware's answers, or of none. */
    private static final int[] ERRNOS = {Errno.EIO, Errno.EINVAL, Errno.ENOMEM, Errno.EAGAIN, Errno.ETIMEDOUT,
        REMOTE_IO};
    /** {@code MLX5_CQE_SYNDROME_*} but the flush, which is of requests without a frame, and two that nobody knows. */
    private static final int[] SYNDROMES = {0x01, 0x02, 0x04, 0x06, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x22,
        0x23, 0x7f};

    private RandomFaults() {
    }

    static int syndrome(Random random) {
        return SYNDROMES[random.nextInt(SYNDROMES.length)];
    }

    /** Has one command or two fail. */
    static void failCommands(EmulatedFaults faults, Random random) {
        faults.failCommands(COMMANDS[random.nextInt(COMMANDS.length)], ERRNOS[random.nextInt(ERRNOS.length)],
                1 + random.nextInt(2));
    }

    /** On the loop of the queue. */
    static void strike(EmulatedFaults faults, VerbsFrameQueue queue, boolean receive, Random random) {
        switch (random.nextInt(6)) {
            case 0, 1 -> faults.failNextCompletionOf(EmulatedFaults.number(queue, receive), receive, syndrome(random));
            case 2 -> faults.failQueuePair(queue.queuePair());
            case 3 -> faults.overrunCompletions(queue, receive);
            default -> { }
        }
    }
}
