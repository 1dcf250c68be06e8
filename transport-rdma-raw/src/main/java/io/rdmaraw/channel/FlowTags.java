package io.rdmaraw.channel;

import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.queue.SpreadFlow;
import io.rdmaraw.queue.SpreadFlows;
import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.FlowSpec;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Which channels a flow tag stands for. Every rule of a loop has a tag of its own, rules that loops share have higher
 * ones, the same on all of them; the array lookup by tag is all that the hot path does.
 */
final class FlowTags {
    /** A rule and who receives by it. */
    static final class Entry {
        private final FlowSpec spec;
        private int tag;
        /** One of these two is there. */
        private Flow flow;
        private SpreadFlow spread;
        /** Replaced, never changed: a handler may detach a channel while a burst is being handed out. */
        QueueChannel[] channels = {};

        private Entry(FlowSpec spec, int tag) {
            this.spec = spec;
            this.tag = tag;
        }

        /** Each frame goes to one of the channels; of other rules every channel gets every frame. */
        boolean isSpread() {
            return spread != null;
        }

        private boolean add(QueueChannel channel) {
            if (Arrays.asList(channels).contains(channel)) {
                return false;
            }
            QueueChannel[] grown = Arrays.copyOf(channels, channels.length + 1);
            grown[grown.length - 1] = channel;
            channels = grown;
            return true;
        }

        private void remove(QueueChannel channel) {
            List<QueueChannel> rest = new ArrayList<>(Arrays.asList(channels));
            rest.remove(channel);
            channels = rest.toArray(QueueChannel[]::new);
        }
    }

    private final Map<FlowSpec, Entry> bySpec = new HashMap<>();
    private final Map<FlowSpec, Entry> spreadBySpec = new HashMap<>();
    private final FrameQueue queue;
    private final SharedDevice device;
    /** Index 0 stays empty: devices use tag 0 for frames of untagged rules. */
    private Entry[] byTag = new Entry[8];
    private Entry[] bySpreadTag = new Entry[0];
    /** Tags of rules that are gone, of which frames may still lie in the queue: not for another rule yet. */
    private final BitSet resting = new BitSet();
    /** Every lower tag is taken or rests. */
    private int leastFreeTag = 1;
    /** The rules that each channel receives by: of ten thousand connections each finds its own when it closes. */
    private final Map<QueueChannel, List<Entry>> byChannel = new IdentityHashMap<>();

    FlowTags(FrameQueue queue, SharedDevice device) {
        this.queue = queue;
        this.device = device;
    }

    /** Returns the rule of a tag; null when nobody on this loop receives by it. */
    Entry entry(int tag) {
        if (tag < SpreadFlows.FIRST_TAG) {
            return tag > 0 && tag < byTag.length ? byTag[tag] : null;
        }
        int index = tag - SpreadFlows.FIRST_TAG;
        return index < bySpreadTag.length ? bySpreadTag[index] : null;
    }

    /** Steers frames to a channel of this loop. */
    void attach(QueueChannel channel, FlowSpec spec) {
        Entry entry = bySpec.get(spec);
        if (entry == null) {
            spec.checkHostTraffic();
            int tag = freeTag();
            entry = new Entry(spec, tag);
            steer(entry);
            byTag[tag] = entry;
            leastFreeTag = tag + 1;
            bySpec.put(spec, entry);
        }
        add(channel, entry);
    }

    private void add(QueueChannel channel, Entry entry) {
        if (entry.add(channel)) {
            byChannel.computeIfAbsent(channel, made -> new ArrayList<>(1)).add(entry);
        }
    }

    /** Has a channel of this loop share a rule with those of other loops. */
    void attachSpread(QueueChannel channel, FlowSpec spec) {
        Entry entry = spreadBySpec.get(spec);
        if (entry == null || entry.spread.isWithdrawn()) {
            spec.checkHostTraffic();
            entry = new Entry(spec, 0);
            joinSpread(entry);
            spreadBySpec.put(spec, entry);
        }
        add(channel, entry);
    }

    private void steer(Entry entry) {
        entry.flow = queue.steer(entry.spec.toBuilder().tag(entry.tag).build());
    }

    private void joinSpread(Entry entry) {
        Object ownerOrNull = entry.isSpread() ? entry.spread.ownerOrNull() : null;
        entry.spread = device.spreadFlows().join(entry.spec, queue, ownerOrNull);
        entry.tag = entry.spread.tag();
        int index = entry.tag - SpreadFlows.FIRST_TAG;
        if (index >= bySpreadTag.length) {
            bySpreadTag = Arrays.copyOf(bySpreadTag, Math.max(8, 2 * index));
        }
        bySpreadTag[index] = entry;
    }

    private int freeTag() {
        int tag = leastFreeTag;
        while (tag < byTag.length && (byTag[tag] != null || resting.get(tag))) {
            tag++;
        }
        if (tag == SpreadFlows.FIRST_TAG) {
            // As many rules came and went as there are tags, and the queue was never found empty.
            queueEmpty();
            return freeTag();
        }
        if (tag == byTag.length) {
            byTag = Arrays.copyOf(byTag, 2 * tag);
        }
        return tag;
    }

    /** The queue was found empty: no frame of a rule that is gone can come any more. */
    void queueEmpty() {
        if (!resting.isEmpty()) {
            leastFreeTag = Math.min(leastFreeTag, resting.nextSetBit(0));
            resting.clear();
        }
    }

    void detach(QueueChannel channel) {
        List<Entry> left = byChannel.remove(channel);
        if (left == null) {
            return;
        }
        for (Entry entry : left) {
            if (entry.channels.length == 1) {
                remove(entry);
            } else {
                entry.remove(channel);
            }
        }
    }

    /** Returns how many rules there are. */
    int ruleCount() {
        return bySpec.size() + spreadBySpec.size();
    }

    private List<Entry> entries() {
        List<Entry> entries = new ArrayList<>(bySpec.values());
        // A rule that was withdrawn may have been followed by one of the same kind already.
        Arrays.stream(bySpreadTag).filter(Objects::nonNull).forEach(entries::add);
        return entries;
    }

    private void remove(Entry entry) {
        if (entry.isSpread()) {
            spreadBySpec.remove(entry.spec, entry);
        } else {
            byTag[entry.tag] = null;
            bySpec.remove(entry.spec);
            resting.set(entry.tag);
        }
        unsteer(entry);
    }

    private void unsteer(Entry entry) {
        if (!entry.isSpread()) {
            entry.flow.close();
            return;
        }
        int index = entry.tag - SpreadFlows.FIRST_TAG;
        // One that was withdrawn is not there any more once the queue was made anew.
        if (bySpreadTag[index] == entry) {
            bySpreadTag[index] = null;
            device.spreadFlows().leave(entry.spread, queue);
        }
    }

    /** Takes all rules away while {@code action} makes the queue anew, and steers them again. */
    void rebuild(Runnable action) {
        List<Entry> entries = entries();
        entries.forEach(this::unsteer);
        action.run();
        for (Entry entry : entries) {
            if (entry.isSpread()) {
                if (!entry.spread.isWithdrawn()) {
                    joinSpread(entry);
                }
            } else {
                steer(entry);
            }
        }
    }

    void close() {
        entries().forEach(this::remove);
        device.retire(queue);
        byChannel.clear();
    }
}
