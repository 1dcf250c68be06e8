package io.rdmaraw.queue;

import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.RssOptions;
import io.rdmaraw.verbs.objects.RwqIndirectionTable;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.WorkQueue;

import java.util.List;

/**
 * An RSS queue pair with its indirection table. Rules share it if they have the same queues and the same hash
 * fields.
 */
final class RssQueuePair {
    private final RwqIndirectionTable table;
    private final QueuePair queuePair;
    private int references;

    private RssQueuePair(RwqIndirectionTable table, QueuePair queuePair) {
        this.table = table;
        this.queuePair = queuePair;
    }

    /**
     * @param entries number of table entries, a power of two
     * @param fields  the hashed fields; see {@link RssOptions}
     */
    static RssQueuePair open(VerbsContext context, ProtectionDomain domain, List<FrameQueue> queues, int entries,
                        long fields, byte[] key) {
        WorkQueue[] workQueues = new WorkQueue[entries];
        for (int i = 0; i < entries; i++) {
            workQueues[i] = queues.get(i % queues.size()).workQueue();
        }
        RwqIndirectionTable table = context.createIndirectionTable(workQueues);
        try {
            return new RssQueuePair(table, domain.createQueuePair(QueuePairOptions.builder()
                    .rss(new RssOptions(table, fields, key, queues.getFirst().portNumber())).build()));
        } catch (RuntimeException e) {
            table.close();
            throw e;
        }
    }

    RssQueuePair retain() {
        references++;
        return this;
    }

    /** Releases a reference and returns true if it was the last one, in which case the objects are closed. */
    boolean release() {
        if (--references > 0) {
            return false;
        }
        queuePair.close();
        table.close();
        return true;
    }

    Flow steer(FlowSpec spec) {
        return queuePair.createFlow(spec);
    }
}
