package io.rdmaraw.channel;

import io.rdmaraw.ffi.Errno;
import java.util.Random;
import io.rdmaraw.queue.FrameQueue;

/** Random faults of an emulated card's queues and of the kernel driver. */
final class RandomFaults {
    /** {@code IB_USER_VERBS_CMD_MODIFY_QP}. */
    static final int MODIFY_QP = 26;
    private static final int CREATE_CQ = 18;
    private static final int CREATE_QP = 24;
    /** {@code IB_USER_VERBS_CMD_FLAG_EXTENDED}. */
    private static final int EXTENDED = 1 << 31;
    /** {@code IB_USER_VERBS_EX_CMD_CREATE_FLOW}. */
    static final int CREATE_FLOW = 50 | EXTENDED;
    /** Commands that a recovery uses. */
    static final int[] COMMANDS = {MODIFY_QP, CREATE_CQ, CREATE_QP, CREATE_CQ | EXTENDED, CREATE_QP | EXTENDED,
        CREATE_FLOW};
    /** {@code EREMOTEIO}. */
    private static final int REMOTE_IO = 121;
    /** Errors that {@code mlx5_cmd_check} of the kernel's mlx5_core returns for firmware errors or a missing answer. */
    private static final int[] ERRNOS = {Errno.EIO, Errno.EINVAL, Errno.ENOMEM, Errno.EAGAIN, Errno.ETIMEDOUT,
        REMOTE_IO};
    /**
     * {@code MLX5_CQE_SYNDROME_*} except the flush error, which requests without a frame have, plus two unknown values.
     */
    private static final int[] SYNDROMES = {0x01, 0x02, 0x04, 0x06, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x22,
        0x23, 0x7f};

    private RandomFaults() {
    }

    static int syndrome(Random random) {
        return SYNDROMES[random.nextInt(SYNDROMES.length)];
    }

    /** Fails the next one or two calls of a random command. */
    static void failCommands(EmulatedFaults faults, Random random) {
        faults.failCommands(COMMANDS[random.nextInt(COMMANDS.length)], ERRNOS[random.nextInt(ERRNOS.length)],
                1 + random.nextInt(2));
    }

    /** Injects a random fault, or none. Called on the loop of the queue. */
    static void strike(EmulatedFaults faults, FrameQueue queue, boolean receive, Random random) {
        switch (random.nextInt(6)) {
            case 0, 1 -> faults.failNextCompletionOf(EmulatedFaults.number(queue, receive), receive, syndrome(random));
            case 2 -> faults.failQueuePair(queue.queuePair());
            case 3 -> faults.overrunCompletions(queue, receive);
            default -> { }
        }
    }
}
