package io.rdmaraw.tools.pktgen;

import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.softverbs.Softverbs;
import io.rdmaraw.verbs.softverbs.SoftverbsQueueCounters;
import java.lang.reflect.RecordComponent;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Counters of a softverbs device since this was opened: frames, and drops and copies by reason. */
final class DeviceCounts implements AutoCloseable {
    /** Frames for which the receiver had posted no receive. */
    static final String NO_RECEIVE = "received.noReceive";

    private final VerbsContext context;
    private final Map<String, Long> before;

    DeviceCounts(String device) {
        context = VerbsDevices.open(device);
        before = all();
    }

    /** Returns the counters that have changed. Empty for other providers, which publish no counters. */
    Map<String, Long> increases() {
        Map<String, Long> increases = new TreeMap<>();
        all().forEach((name, count) -> {
            long more = count - before.get(name);
            if (more != 0) {
                increases.put(name, more);
            }
        });
        return increases;
    }

    /** Returns the number of sent frames that matched no rule of a receiver. */
    long unmatched() {
        return increases().getOrDefault("sent.noMatch", 0L);
    }

    /**
     * Returns the number of received frames that the device dropped because the receiver did not poll in time. 0 for
     * cards.
     */
    long lost() {
        Map<String, Long> increases = increases();
        return Stream.of("received.ringFull", "received.driverNoBuffer", NO_RECEIVE)
                .mapToLong(name -> increases.getOrDefault(name, 0L)).sum();
    }

    private Map<String, Long> all() {
        Map<String, Long> counts = new TreeMap<>();
        if (Softverbs.isSoftverbs(context)) {
            Softverbs device = Softverbs.of(context);
            put(counts, "sent.", device.sentCounters());
            put(counts, "received.", device.receivedCounters());
            counts.put("kernelVisibleRules", Softverbs.countersOf(context).kernelVisibleRules());
        }
        return counts;
    }

    private static void put(Map<String, Long> counts, String prefix, SoftverbsQueueCounters values) {
        try {
            for (RecordComponent component : SoftverbsQueueCounters.class.getRecordComponents()) {
                counts.put(prefix + component.getName(), (Long) component.getAccessor().invoke(values));
            }
        } catch (ReflectiveOperationException e) {
            throw new AssertionError("the accessors of a public record", e);
        }
    }

    @Override
    public void close() {
        context.close();
    }
}
