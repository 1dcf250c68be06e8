package io.rdmaraw.device;

import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.RssFlow;
import io.rdmaraw.queue.RssFlows;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Maps flow tags to channels. Every rule of a loop has its own tag; rules that loops share have higher
 * ones, the same on all of them; the array lookup by tag is all that the hot path does.
 */
final class FlowTagTable {
    /** A rule and the channels that receive by it. */
    static final class Entry {
        private final FlowSpec spec;
        private int tag;
        /** One of these two is there. */
        private Flow flow;
        private RssFlow rss;
        /** Replaced, never changed: a handler may detach a channel while a burst is being handed out. */
        FrameReceiver[] channels = {};

        private Entry(FlowSpec spec, int tag) {
            this.spec = spec;
            this.tag = tag;
        }

        /** Each frame goes to one of the channels; of other rules every channel gets every frame. */
        boolean isRss() {
            return rss != null;
        }

        private boolean add(FrameReceiver channel) {
            if (Arrays.asList(channels).contains(channel)) {
                return false;
            }
            FrameReceiver[] grown = Arrays.copyOf(channels, channels.length + 1);
            grown[grown.length - 1] = channel;
            channels = grown;
            return true;
        }

        private void remove(FrameReceiver channel) {
            List<FrameReceiver> rest = new ArrayList<>(Arrays.asList(channels));
            rest.remove(channel);
            channels = rest.toArray(FrameReceiver[]::new);
        }
    }

    private final Map<FlowSpec, Entry> bySpec = new HashMap<>();
    private final Map<FlowSpec, Entry> rssBySpec = new HashMap<>();
    private final FrameQueue queue;
    private final SharedDevice device;
    /** Index 0 stays empty: devices use tag 0 for frames of untagged rules. */
    private Entry[] byTag = new Entry[8];
    private Entry[] byRssTag = new Entry[0];
    /** Tags of rules that are gone, of which frames may still lie in the queue: not for another rule yet. */
    private final BitSet resting = new BitSet();
    /** Every lower tag is in use or waits for reuse. */
    private int leastFreeTag = 1;
    /** The rules that each channel receives by: of ten thousand connections each finds its own when it closes. */
    private final Map<FrameReceiver, List<Entry>> byChannel = new IdentityHashMap<>();

    FlowTagTable(FrameQueue queue, SharedDevice device) {
        this.queue = queue;
        this.device = device;
    }

    /** Returns the rule of a tag; null when no channel on this loop receives by it. */
    Entry entry(int tag) {
        if (tag < RssFlows.FIRST_TAG) {
            return tag > 0 && tag < byTag.length ? byTag[tag] : null;
        }
        int index = tag - RssFlows.FIRST_TAG;
        return index < byRssTag.length ? byRssTag[index] : null;
    }

    /** Steers frames to a channel of this loop. */
    void attach(FrameReceiver channel, FlowSpec spec) {
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

    private void add(FrameReceiver channel, Entry entry) {
        if (entry.add(channel)) {
            byChannel.computeIfAbsent(channel, made -> new ArrayList<>(1)).add(entry);
        }
    }

    /** Has a channel of this loop share a rule with those of other loops. */
    void attachRss(FrameReceiver channel, FlowSpec spec) {
        Entry entry = rssBySpec.get(spec);
        if (entry == null || entry.rss.isWithdrawn()) {
            spec.checkHostTraffic();
            entry = new Entry(spec, 0);
            joinRss(entry);
            rssBySpec.put(spec, entry);
        }
        add(channel, entry);
    }

    private void steer(Entry entry) {
        entry.flow = queue.steer(entry.spec.toBuilder().tag(entry.tag).build());
    }

    private void joinRss(Entry entry) {
        Object ownerOrNull = entry.isRss() ? entry.rss.ownerOrNull() : null;
        entry.rss = device.rssFlows().join(entry.spec, queue, ownerOrNull);
        entry.tag = entry.rss.tag();
        int index = entry.tag - RssFlows.FIRST_TAG;
        if (index >= byRssTag.length) {
            byRssTag = Arrays.copyOf(byRssTag, Math.max(8, 2 * index));
        }
        byRssTag[index] = entry;
    }

    private int freeTag() {
        int tag = leastFreeTag;
        while (tag < byTag.length && (byTag[tag] != null || resting.get(tag))) {
            tag++;
        }
        if (tag == RssFlows.FIRST_TAG) {
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

    void detach(FrameReceiver channel) {
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
        return bySpec.size() + rssBySpec.size();
    }

    private List<Entry> entries() {
        List<Entry> entries = new ArrayList<>(bySpec.values());
        // A rule that was withdrawn may have been followed by one of the same kind already.
        Arrays.stream(byRssTag).filter(Objects::nonNull).forEach(entries::add);
        return entries;
    }

    private void remove(Entry entry) {
        if (entry.isRss()) {
            rssBySpec.remove(entry.spec, entry);
        } else {
            byTag[entry.tag] = null;
            bySpec.remove(entry.spec);
            resting.set(entry.tag);
        }
        unsteer(entry);
    }

    private void unsteer(Entry entry) {
        if (!entry.isRss()) {
            entry.flow.close();
            return;
        }
        int index = entry.tag - RssFlows.FIRST_TAG;
        // A rule that was withdrawn is not there any more once the queue has been replaced.
        if (byRssTag[index] == entry) {
            byRssTag[index] = null;
            device.rssFlows().leave(entry.rss, queue);
        }
    }

    /** Removes all rules while {@code action} replaces the queue, and attaches them again. */
    void rebuild(Runnable action) {
        List<Entry> entries = entries();
        entries.forEach(this::unsteer);
        action.run();
        for (Entry entry : entries) {
            if (entry.isRss()) {
                if (!entry.rss.isWithdrawn()) {
                    joinRss(entry);
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
