package io.rdmaraw.queue;

import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.QueuePairOptions;
import io.rdmaraw.verbs.SendWr;
import io.rdmaraw.verbs.Sge;
import io.rdmaraw.verbs.mlx5.Mlx5dv;

/** The queue pair of a frame queue, its completion queues, and the native memory of its rings. */
final class Queues implements AutoCloseable {
    private final SharedDevice device;
    private final CompletionChannel channel;
    private final boolean compresses;
    private final StridingPlan plan;
    CompletionQueue receiveCompletions;
    CompletionQueue sendCompletions;
    QueuePair queuePair;
    /** The way of frames to a striding queue, or null. */
    StridingPath striding;
    NativeArrays arrays;

    private Queues(SharedDevice device, CompletionChannel channel, boolean compresses, StridingPlan plan) {
        this.device = device;
        this.channel = channel;
        this.compresses = compresses;
        this.plan = plan;
    }

    /**
     * Makes them, the queue pair in the state of RESET.
     *
     * @param compresses whether the device compresses completions of receives
     * @param plan of the striding queue that frames are received by, or null
     * @param maxHeaderBytes the longest headers of frames that are cut into segments; 0 when there are none
     */
    static Queues open(SharedDevice device, CompletionChannel channel, FrameQueueOptions options, boolean compresses,
                       StridingPlan plan, int maxHeaderBytes) {
        Queues queues = new Queues(device, channel, compresses, plan);
        try {
            queues.make(options, maxHeaderBytes);
            return queues;
        } catch (RuntimeException | Error e) {
            queues.close();
            throw e;
        }
    }

    /** Makes another completion queue for receives. */
    CompletionQueue receiveCompletionQueue(int minEntries) {
        return compresses ? Mlx5dv.createCompressed(device.context(), minEntries, channel, plan != null)
                : completionQueue(minEntries);
    }

    private CompletionQueue completionQueue(int minEntries) {
        return device.context().createCompletionQueue(minEntries, channel, 0);
    }

    private void make(FrameQueueOptions options, int maxHeaderBytes) {
        // Twice the depth: the queue pair's receives complete here, and those of the work queue.
        receiveCompletions = receiveCompletionQueue(plan != null ? plan.maxCompletions()
                : 2 * options.receiveQueueDepth());
        sendCompletions = completionQueue(options.sendQueueDepth());
        queuePair = device.protectionDomain().createQueuePair(QueuePairOptions.builder()
                .sendCompletionQueue(sendCompletions)
                .receiveCompletionQueue(receiveCompletions)
                .maxSendWr(options.sendQueueDepth())
                .maxReceiveWr(plan != null ? 0 : options.receiveQueueDepth())
                .maxSendSge(options.maxSendSge())
                .maxReceiveSge(1)
                .maxTsoHeaderBytes(maxHeaderBytes)
                .build());
        if (plan != null) {
            striding = StridingPath.open(device, receiveCompletions, plan);
        }
        // Burst arrays of both rings, with room for the rounding to cache lines.
        arrays = new NativeArrays(FrameQueue.BURST_FRAMES
                * (SendWr.SIZE_BYTES + options.maxSendSge() * Sge.SIZE_BYTES + 256L)
                + 2 * VerbsPostedReceives.nativeBytes());
    }

    /** Closes what is open; frames in flight may be released then. Closing twice is harmless. */
    @Override
    public void close() {
        closeAll(striding, queuePair, sendCompletions, receiveCompletions, arrays);
        arrays = null;
    }

    static void closeAll(AutoCloseable... resources) {
        for (AutoCloseable resource : resources) {
            try {
                if (resource != null) {
                    resource.close();
                }
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException("could not close a queue", e);
            }
        }
    }
}
