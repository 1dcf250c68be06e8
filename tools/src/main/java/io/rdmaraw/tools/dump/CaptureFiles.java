package io.rdmaraw.tools.dump;

import io.rdmaraw.tools.pcap.PcapngWriter;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Writes frames to a pcapng file, or to a sequence of files with the names that tcpdump gives them. */
final class CaptureFiles implements FrameSink {
    private static final String STANDARD_OUTPUT = "-";
    private static final String APPLICATION = "rdma-raw dump";

    private final String name;
    private final int snapBytes;
    private final String filter;
    private final long maxFileBytes;
    private final int maxFiles;
    private final List<Interface> interfaces = new ArrayList<>();
    private PcapngWriter writer;
    private int fileIndex;
    private long lastNanos;

    /** A queue with its counters. */
    private static final class Interface {
        private final CaptureReply.Point point;
        private long seen;
        private long dropped;

        private Interface(CaptureReply.Point point) {
            this.point = point;
        }
    }

    /**
     * Opens the first file.
     *
     * @param name         file name, or {@code -} for the standard output
     * @param filter       the filter in words, or an empty text
     * @param maxFileBytes length after which the next file begins; 0 for a single file
     * @param maxFiles     number of files after which the first one is overwritten; 0 without a limit
     */
    CaptureFiles(String name, int snapBytes, String filter, long maxFileBytes, int maxFiles) throws IOException {
        this.name = name;
        this.snapBytes = snapBytes;
        this.filter = filter;
        this.maxFileBytes = maxFileBytes;
        this.maxFiles = maxFiles;
        open();
    }

    private void open() throws IOException {
        OutputStream out = name.equals(STANDARD_OUTPUT) ? new FileOutputStream(FileDescriptor.out)
                : Files.newOutputStream(Path.of(fileName(name, fileIndex, maxFiles)));
        writer = new PcapngWriter(out, APPLICATION);
        for (Interface each : interfaces) {
            describe(each);
        }
    }

    /** Returns the name of a file. With a limit, all numbers have the same length, so that names sort. */
    static String fileName(String name, int index, int maxFiles) {
        if (maxFiles > 1) {
            int digits = Integer.toString(maxFiles - 1).length();
            return name + String.format("%0" + digits + "d", index);
        }
        return index == 0 ? name : name + index;
    }

    private void describe(Interface each) throws IOException {
        writer.addInterface(each.point.device(), "loop " + each.point.loop() + ", port " + each.point.port(),
                snapBytes, filter);
    }

    @Override
    public void add(CaptureReply.Point point) throws IOException {
        Interface added = new Interface(point);
        interfaces.add(added);
        describe(added);
    }

    @Override
    public void write(int point, CaptureReply.Frame frame) throws IOException {
        if (maxFileBytes > 0 && writer.writtenBytes() > maxFileBytes) {
            close();
            fileIndex = maxFiles > 0 ? (fileIndex + 1) % maxFiles : fileIndex + 1;
            open();
        }
        lastNanos = frame.timeNanos();
        writer.write(point, frame.sent(), frame.timeNanos(), frame.bytes(), frame.lengthBytes(),
                comments(interfaces.get(point).point, frame));
    }

    private static List<String> comments(CaptureReply.Point point, CaptureReply.Frame frame) {
        List<String> comments = new ArrayList<>();
        if (!frame.dropReason().isEmpty()) {
            comments.add("dropped: " + frame.dropReason());
        }
        if (!frame.channel().isEmpty()) {
            comments.add("channel " + frame.channel() + ", loop " + point.loop());
        }
        return comments;
    }

    @Override
    public void count(int point, long seen, long dropped) {
        interfaces.get(point).seen = seen;
        interfaces.get(point).dropped = dropped;
    }

    @Override
    public void flush() throws IOException {
        writer.flush();
    }

    @Override
    public void close() throws IOException {
        try (PcapngWriter closed = writer) {
            for (int i = 0; i < interfaces.size(); i++) {
                closed.writeStatistics(i, lastNanos, interfaces.get(i).seen, interfaces.get(i).dropped);
            }
        }
    }
}
