package io.rdmaraw.queue.mlx5;

import io.rdmaraw.queue.DirectRingDriver;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.QueuePairResources;
import io.rdmaraw.queue.ReceiveRing;
import io.rdmaraw.queue.SendRing;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.queue.StridingPlan;
import io.rdmaraw.verbs.abi.StridingLimits;
import io.rdmaraw.verbs.mlx5.Mlx5SendQueue;
import io.rdmaraw.verbs.mlx5.Mlx5dv;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.WorkQueue;

/** Direct rings of devices that libmlx5 drives: ConnectX-4 and later, and BlueField. */
public final class Mlx5DirectRingDriver implements DirectRingDriver {
    @Override
    public String driverName() {
        return "mlx5";
    }

    @Override
    public String unavailability(VerbsContext context) {
        return Mlx5dv.unavailability(context);
    }

    /**
     * Returns false for mlx5 devices, whichever libmlx5 is installed: in rdma-core 44 to 65 it misplaces the data
     * segments of a TSO request if the headers wrap around the end of the ring.
     */
    @Override
    public boolean verbsSupportsTso(VerbsContext context) {
        return !Mlx5dv.isDriverOf(context);
    }

    @Override
    public Runnable registerVerbsSender(VerbsContext context, QueuePair queuePair) {
        return Mlx5dv.isDriverOf(context) ? Mlx5SendQueue.registerVerbsSender(Mlx5dv.rings(queuePair)) : () -> { };
    }

    @Override
    public int maxSendRequests(FrameQueueOptions options, int maxTsoHeaderBytes) {
        return Mlx5SendRing.maxRequests(options.sendQueueDepth(), options.maxSendSge(), maxTsoHeaderBytes);
    }

    /**
     * libmlx5 rounds the requested number plus one up to a power of two ({@code align_queue_size} in {@code verbs.c}).
     * All entries of the ring hold completions, so DPDK requests one less, too.
     */
    @Override
    public int requestedEntries(int maxCompletions) {
        return maxCompletions - 1;
    }

    @Override
    public boolean supportsMultiPacketSend(VerbsContext context) {
        return Mlx5SendRing.supportsMultiPacketSend(context);
    }

    @Override
    public boolean canCompressCompletions(VerbsContext context, boolean striding) {
        return Mlx5dv.canCompressCompletions(context, striding);
    }

    @Override
    public CompletionQueue createCompressedCompletionQueue(VerbsContext context, int minEntries,
            CompletionChannel completionChannel, int completionVector, boolean striding) {
        return Mlx5dv.createCompressedCompletionQueue(context, minEntries, completionChannel, completionVector,
                striding);
    }

    @Override
    public StridingLimits stridingLimits(VerbsContext context) {
        return Mlx5dv.stridingLimits(context);
    }

    @Override
    public WorkQueue createStridingWorkQueue(SharedDevice device, CompletionQueue completions, StridingPlan plan) {
        return Mlx5dv.createStridingWorkQueue(device.context(), device.protectionDomain(), completions,
                plan.maxRequests(), plan.layout().stridesPerChunk(), plan.layout().strideBytes());
    }

    @Override
    public ReceiveRing createReceiveRing(QueuePairResources queues) {
        return queues.setup().plan() != null ? new StridingReceiveRing(queues) : new Mlx5ReceiveRing(queues);
    }

    @Override
    public SendRing createSendRing(QueuePairResources queues) {
        return new Mlx5SendRing(queues);
    }
}
