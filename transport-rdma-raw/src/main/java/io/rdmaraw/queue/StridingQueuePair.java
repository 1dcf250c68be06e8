package io.rdmaraw.queue;

import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.QueuePairOptions;
import io.rdmaraw.verbs.RssOptions;
import io.rdmaraw.verbs.RwqIndirectionTable;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.flow.FlowSpec;

/**
 * A striding queue with the queue pair in front of it. Only a work queue can be striding, never the queue pair's own
 * receive queue; so rules lead to an RSS queue pair whose table has that one entry.
 */
public final class StridingQueuePair implements AutoCloseable {
    private final WorkQueue workQueue;
    private RwqIndirectionTable table;
    private QueuePair rss;

    private StridingQueuePair(WorkQueue workQueue) {
        this.workQueue = workQueue;
    }

    static StridingQueuePair open(QueueSetup setup, CompletionQueue completions) {
        SharedDevice device = setup.device();
        StridingQueuePair path = new StridingQueuePair(setup.rings().createStriding(device, completions,
                setup.plan()));
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

    /** Returns the striding queue. */
    public WorkQueue workQueue() {
        return workQueue;
    }

    Flow steer(FlowSpec spec) {
        return rss.createFlow(spec);
    }

    @Override
    public void close() {
        QueuePairResources.closeAll(rss, table, workQueue);
    }
}
