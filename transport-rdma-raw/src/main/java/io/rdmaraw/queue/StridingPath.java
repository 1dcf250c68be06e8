package io.rdmaraw.queue;

import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.FlowSpec;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.QueuePairOptions;
import io.rdmaraw.verbs.RssOptions;
import io.rdmaraw.verbs.RwqIndirectionTable;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.mlx5.Mlx5dv;

/**
 * The way of frames to a striding queue. Only a work queue can be one, never the queue pair's own; so rules lead to an
 * RSS queue pair whose table has that one entry.
 */
final class StridingPath implements AutoCloseable {
    final WorkQueue workQueue;
    private RwqIndirectionTable table;
    private QueuePair rss;

    private StridingPath(WorkQueue workQueue) {
        this.workQueue = workQueue;
    }

    static StridingPath open(SharedDevice device, CompletionQueue completions, StridingPlan plan) {
        StridingPath path = new StridingPath(Mlx5dv.createStriding(device.context(), device.protectionDomain(),
                completions, plan.maxRequests(), plan.layout().stridesPerChunk(), plan.layout().strideBytes()));
        try {
            path.workQueue.toReady();
            path.table = device.context().createIndirectionTable(path.workQueue);
            // With nothing to hash by: there is nothing to choose.
            path.rss = device.protectionDomain().createQueuePair(QueuePairOptions.builder()
                    .rss(new RssOptions(path.table, 0, new byte[RssOptions.KEY_LENGTH_BYTES])).build());
            return path;
        } catch (RuntimeException | Error e) {
            path.close();
            throw e;
        }
    }

    Flow steer(FlowSpec spec) {
        return rss.createFlow(spec);
    }

    @Override
    public void close() {
        Queues.closeAll(rss, table, workQueue);
    }
}
