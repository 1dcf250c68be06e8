package io.rdmaraw.queue;

import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.RssOptions;
import io.rdmaraw.verbs.objects.RwqIndirectionTable;
import io.rdmaraw.verbs.objects.WorkQueue;

/**
 * A striding receive queue and the RSS queue pair in front of it. Only a work queue can be striding, not the
 * receive queue of a queue pair. Therefore rules lead to an RSS queue pair, and its table has only this work
 * queue.
 */
public final class StridingQueuePair implements AutoCloseable {
    private final WorkQueue workQueue;
    private RwqIndirectionTable table;
    private QueuePair queuePair;

    private StridingQueuePair(WorkQueue workQueue) {
        this.workQueue = workQueue;
    }

    static StridingQueuePair open(QueueSetup setup, CompletionQueue completions) {
        SharedDevice device = setup.device();
        StridingQueuePair striding = new StridingQueuePair(setup.driver().createStridingWorkQueue(device, completions,
                setup.plan()));
        try {
            striding.workQueue.toReady();
            striding.table = device.context().createIndirectionTable(striding.workQueue);
            // No hash fields: there is only one entry to select.
            striding.queuePair = device.protectionDomain().createQueuePair(QueuePairOptions.builder()
                    .rss(new RssOptions(striding.table, 0, new byte[RssOptions.KEY_LENGTH_BYTES],
                            setup.portNumber())).build());
            return striding;
        } catch (RuntimeException | Error e) {
            striding.close();
            throw e;
        }
    }

    /** Returns the striding receive queue. */
    public WorkQueue workQueue() {
        return workQueue;
    }

    Flow steer(FlowSpec spec) {
        return queuePair.createFlow(spec);
    }

    @Override
    public void close() {
        QueuePairResources.closeAll(queuePair, table, workQueue);
    }
}
