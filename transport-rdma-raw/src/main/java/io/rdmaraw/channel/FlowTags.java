package io.rdmaraw.channel;

import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.FlowSpec;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Which channels a flow tag stands for. Every rule of a loop has a tag of its own; the array lookup by tag is all that
 * the hot path does.
 */
final class FlowTags {
    /** Makes a rule on the device. */
    interface Steering {
        Flow steer(FlowSpec spec);
    }

    /** A rule and who receives by it. */
    static final class Entry {
        private final FlowSpec spec;
        private final int tag;
        private Flow flow;
        /** Replaced, never changed: a handler may detach a channel while a burst is being handed out. */
        QueueChannel[] channels = {};

        Entry(FlowSpec spec, int tag) {
            this.spec = spec;
            this.tag = tag;
        }
    }

    private final Map<FlowSpec, Entry> bySpec = new HashMap<>();
    /** Index 0 stays empty: devices use tag 0 for frames of untagged rules. */
    private Entry[] byTag = new Entry[8];

    Entry entry(int tag) {
        return tag > 0 && tag < byTag.length ? byTag[tag] : null;
    }

    void attach(QueueChannel channel, FlowSpec spec, Steering steering) {
        Entry entry = bySpec.get(spec);
        if (entry == null) {
            spec.checkHostTraffic();
            int tag = freeTag();
            entry = new Entry(spec, tag);
            entry.flow = steering.steer(spec.toBuilder().tag(tag).build());
            byTag[tag] = entry;
            bySpec.put(spec, entry);
        } else if (Arrays.asList(entry.channels).contains(channel)) {
            return;
        }
        QueueChannel[] grown = Arrays.copyOf(entry.channels, entry.channels.length + 1);
        grown[grown.length - 1] = channel;
        entry.channels = grown;
    }

    private int freeTag() {
        for (int tag = 1; tag < byTag.length; tag++) {
            if (byTag[tag] == null) {
                return tag;
            }
        }
        int tag = byTag.length;
        byTag = Arrays.copyOf(byTag, 2 * tag);
        return tag;
    }

    void detach(QueueChannel channel) {
        for (Entry entry : List.copyOf(bySpec.values())) {
            List<QueueChannel> rest = new ArrayList<>(Arrays.asList(entry.channels));
            if (rest.remove(channel)) {
                if (rest.isEmpty()) {
                    remove(entry);
                } else {
                    entry.channels = rest.toArray(QueueChannel[]::new);
                }
            }
        }
    }

    private void remove(Entry entry) {
        byTag[entry.tag] = null;
        bySpec.remove(entry.spec);
        entry.flow.close();
    }

    void close() {
        for (Entry entry : List.copyOf(bySpec.values())) {
            remove(entry);
        }
    }
}
