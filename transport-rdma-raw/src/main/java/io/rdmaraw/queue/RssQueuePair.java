package io.rdmaraw.queue;

import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.ProtectionDomain;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.QueuePairOptions;
import io.rdmaraw.verbs.RssOptions;
import io.rdmaraw.verbs.RwqIndirectionTable;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.List;

/** An RSS queue pair with its table: rules that lead to it are spread over the same queues by the same fields. */
final class RssQueuePair {
    private final RwqIndirectionTable table;
    private final QueuePair queuePair;
    private int users;

    private RssQueuePair(RwqIndirectionTable table, QueuePair queuePair) {
        this.table = table;
        this.queuePair = queuePair;
    }

    /**
     * @param entries how many entries the table has; a power of two
     * @param fields what is hashed, see {@link RssOptions}
     */
    static RssQueuePair open(VerbsContext context, ProtectionDomain domain, List<FrameQueue> members, int entries,
                        long fields, byte[] key) {
        WorkQueue[] workQueues = new WorkQueue[entries];
        for (int i = 0; i < entries; i++) {
            workQueues[i] = members.get(i % members.size()).workQueue();
        }
        RwqIndirectionTable table = context.createIndirectionTable(workQueues);
        try {
            return new RssQueuePair(table, domain.createQueuePair(QueuePairOptions.builder()
                    .rss(new RssOptions(table, fields, key)).build()));
        } catch (RuntimeException e) {
            table.close();
            throw e;
        }
    }

    RssQueuePair use() {
        users++;
        return this;
    }

    /** Returns true for the last user: nothing is left of the path. */
    boolean release() {
        if (--users > 0) {
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
