package io.rdmaraw.tools.pktgen;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.buffer.ByteBuf;
import io.rdmaraw.tools.output.Json;
import java.util.Locale;
import java.util.Objects;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;

/** Measures loss, reordering and latency of frames that carry a {@link TrafficProbe}. Not thread-safe. */
final class ProbeReader {
    private static final long MAX_NANOS = 5_000_000_000L;
    private static final int SIGNIFICANT_DIGITS = 3;
    private static final double[] PERCENTILES = {50, 99, 99.9, 99.99};

    private final StreamCounter[] streams = new StreamCounter[TrafficProbe.MAX_STREAMS];
    private final Histogram latency = new Histogram(MAX_NANOS, SIGNIFICANT_DIGITS);
    private long withoutProbe;

    void read(ByteBuf frame) {
        if (!TrafficProbe.isIn(frame)) {
            withoutProbe++;
            return;
        }
        int stream = TrafficProbe.stream(frame);
        StreamCounter counter = streams[stream];
        if (counter == null) {
            counter = new StreamCounter();
            streams[stream] = counter;
        }
        counter.add(TrafficProbe.number(frame));
        latency.recordValue(Math.min(MAX_NANOS, TrafficProbe.latencyNanos(frame, System.nanoTime())));
    }

    private long sum(ToLongFunction<StreamCounter> count) {
        return Stream.of(streams).filter(Objects::nonNull).mapToLong(count).sum();
    }

    /** Adds the measurements to a result. */
    void addTo(ObjectNode json) {
        ObjectNode probe = json.putObject("probe");
        probe.put("streams", Stream.of(streams).filter(Objects::nonNull).count());
        probe.put("frames", sum(StreamCounter::received)).put("lost", sum(StreamCounter::lost));
        probe.put("reordered", sum(StreamCounter::reordered)).put("duplicates", sum(StreamCounter::duplicates));
        probe.put("withoutProbe", withoutProbe);
        ObjectNode micros = probe.putObject("latencyMicros");
        micros.put("min", Json.rounded(latency.getMinValue() / 1e3));
        for (double percentile : PERCENTILES) {
            micros.put("p" + (percentile == Math.rint(percentile) ? Long.toString((long) percentile)
                    : Double.toString(percentile)), Json.rounded(latency.getValueAtPercentile(percentile) / 1e3));
        }
        micros.put("max", Json.rounded(latency.getMaxValue() / 1e3)).put("mean", Json.rounded(latency.getMean() / 1e3));
    }

    /** Returns the measurements as text. */
    String toText() {
        return String.format(Locale.ROOT, "%,d frames in %d streams: %,d lost, %,d reordered, %,d duplicated;"
                + " latency in us:"
                + " min %.1f,"
                + " median %.1f, 99%% %.1f, 99.9%% %.1f, max %.1f", sum(StreamCounter::received),
                Stream.of(streams).filter(Objects::nonNull).count(), sum(StreamCounter::lost),
                sum(StreamCounter::reordered), sum(StreamCounter::duplicates), latency.getMinValue() / 1e3,
                latency.getValueAtPercentile(50) / 1e3, latency.getValueAtPercentile(99) / 1e3,
                latency.getValueAtPercentile(99.9) / 1e3, latency.getMaxValue() / 1e3);
    }
}
