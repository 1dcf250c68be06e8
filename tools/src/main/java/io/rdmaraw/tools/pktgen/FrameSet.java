package io.rdmaraw.tools.pktgen;

import io.rdmaraw.tools.ToolException;
import io.rdmaraw.tools.frame.FrameTemplate;
import io.rdmaraw.tools.pcap.PcapFrame;
import io.rdmaraw.tools.pcap.PcapReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The frames that pktgen sends, over and over, in memory. */
final class FrameSet {
    private static final int MIN_FRAME_BYTES = 14;
    private static final long MAX_TOTAL_BYTES = 1L << 30;

    private final byte[][] frames;
    private int next;

    private FrameSet(List<byte[]> frames) {
        this.frames = frames.toArray(byte[][]::new);
    }

    /** @param frameBytes the length wanted, or 0 for the template's own */
    static FrameSet ofTemplate(String template, int frameBytes) {
        FrameTemplate parsed = FrameTemplate.parse(template);
        return new FrameSet(List.of(frameBytes == 0 ? parsed.build() : parsed.build(frameBytes)));
    }

    /** Reads a pcap file whole: what cannot be sent as it was captured is refused, not skipped. */
    static FrameSet ofPcap(Path file) {
        List<byte[]> frames = new ArrayList<>();
        long totalBytes = 0;
        try (PcapReader reader = PcapReader.open(file)) {
            for (PcapFrame frame = reader.next(); frame != null; frame = reader.next()) {
                check(file, frames.size() + 1, frame);
                totalBytes += frame.bytes().length;
                if (totalBytes > MAX_TOTAL_BYTES) {
                    throw new ToolException(file + " has more than 1 GiB of frames: split it with editcap -c");
                }
                frames.add(frame.bytes());
            }
        } catch (IOException e) {
            throw new ToolException(e instanceof java.nio.file.NoSuchFileException ? "there is no file " + file
                    : e.getMessage(), e);
        }
        if (frames.isEmpty()) {
            throw new ToolException(file + " has no frames");
        }
        return new FrameSet(frames);
    }

    private static void check(Path file, int number, PcapFrame frame) {
        if (frame.isCut()) {
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

    /** The frames in order, and from the start again after the last. */
    byte[] next() {
        byte[] frame = frames[next];
        next = next + 1 == frames.length ? 0 : next + 1;
        return frame;
    }
}
