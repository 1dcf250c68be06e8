package io.rdmaraw.tools.pktgen;

import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.frame.FrameTemplate;
import io.rdmaraw.tools.frame.TemplateRanges;
import io.rdmaraw.tools.pcap.PcapFrame;
import io.rdmaraw.tools.pcap.PcapReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The frames that pktgen sends repeatedly. They are held in memory. */
final class FrameSet {
    /** Simple IMIX: frames of 64, 594 and 1518 bytes including FCS in the ratio 7:4:1, evenly distributed. */
    static final int[] IMIX = {60, 590, 60, 60, 590, 60, 1514, 60, 590, 60, 60, 590};
    private static final int MIN_FRAME_BYTES = 14;
    private static final long MAX_TOTAL_BYTES = 1L << 30;

    private final byte[][] frames;
    private final long[] timestampsNanos;
    private int next;

    private FrameSet(List<byte[]> frames, long[] timestampsNanos) {
        this.frames = frames.toArray(byte[][]::new);
        this.timestampsNanos = timestampsNanos;
    }

    /**
     * Builds the frames of templates: for each length, one frame of each flow.
     *
     * @param templates    templates, possibly with ranges; each combination of values is a flow
     * @param lengthsBytes frame lengths, used in turn; empty to use the length of each template
     * @param probes       whether each frame ends with a {@link TrafficProbe}
     */
    static FrameSet ofTemplates(List<String> templates, int[] lengthsBytes, boolean probes) {
        List<FrameTemplate> flows = templates.stream().flatMap(text -> TemplateRanges.expand(text).stream())
                .map(FrameTemplate::parse).toList();
        if (flows.size() > TrafficProbe.MAX_STREAMS) {
            throw new IllegalArgumentException("the templates have more than " + TrafficProbe.MAX_STREAMS + " flows");
        }
        List<byte[]> frames = new ArrayList<>();
        int rounds = Math.max(1, lengthsBytes.length);
        for (int round = 0; round < rounds; round++) {
            for (int flow = 0; flow < flows.size(); flow++) {
                FrameTemplate template = flows.get(flow);
                int lengthBytes = lengthsBytes.length == 0 ? template.build().length : lengthsBytes[round];
                frames.add(build(template, lengthBytes, probes, flow));
            }
        }
        return new FrameSet(frames, new long[0]);
    }

    private static byte[] build(FrameTemplate template, int lengthBytes, boolean probes, int stream) {
        if (!probes) {
            return template.build(lengthBytes);
        }
        int minBytes = template.headerBytes() + TrafficProbe.LENGTH_BYTES;
        // A shorter frame would be padded to 60 bytes in transit, and would no longer end with the probe.
        int probedBytes = Math.max(lengthBytes, Math.max(minBytes, 60));
        return template.build(probedBytes, payload -> TrafficProbe.prepare(payload, stream));
    }

    /** Reads a whole pcap file. Fails if a frame cannot be sent exactly as it was captured; no frame is skipped. */
    static FrameSet ofPcap(Path file) {
        List<byte[]> frames = new ArrayList<>();
        List<Long> timestamps = new ArrayList<>();
        long totalBytes = 0;
        try (PcapReader reader = PcapReader.open(file)) {
            for (PcapFrame frame = reader.next(); frame != null; frame = reader.next()) {
                check(file, frames.size() + 1, frame);
                totalBytes += frame.bytes().length;
                if (totalBytes > MAX_TOTAL_BYTES) {
                    throw new ToolException(file + " has more than 1 GiB of frames: split it with editcap -c");
                }
                frames.add(frame.bytes());
                timestamps.add(frame.timestampNanos());
            }
        } catch (IOException e) {
            throw new ToolException(e instanceof java.nio.file.NoSuchFileException ? "there is no file " + file
                    : e.getMessage(), e);
        }
        if (frames.isEmpty()) {
            throw new ToolException(file + " has no frames");
        }
        return new FrameSet(frames, timestamps.stream().mapToLong(Long::longValue).toArray());
    }

    private static void check(Path file, int number, PcapFrame frame) {
        if (frame.isTruncated()) {
            throw new ToolException("frame " + number + " of " + file + " was cut to " + frame.bytes().length + " of "
                    + frame.originalLengthBytes() + " bytes when it was captured: capture with -s 0");
        }
        if (frame.bytes().length < MIN_FRAME_BYTES) {
            throw new ToolException("frame " + number + " of " + file + " has " + frame.bytes().length
                    + " bytes, less than an Ethernet header");
        }
    }

    int size() {
        return frames.length;
    }

    /** Returns the capture times of the frames; empty if the frames come from templates. */
    long[] timestampsNanos() {
        return timestampsNanos;
    }

    /** Returns the length of the frame that {@link #next()} returns. */
    int nextBytes() {
        return frames[next].length;
    }

    /** Returns the next frame. The first frame follows the last one. */
    byte[] next() {
        byte[] frame = frames[next];
        next = next + 1 == frames.length ? 0 : next + 1;
        return frame;
    }
}
