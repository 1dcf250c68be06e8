package io.rdmaraw.tools.pcap;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Writes Ethernet frames to a classic pcap file with nanosecond timestamps, in little-endian order. Used by one thread.
 */
public final class PcapWriter implements AutoCloseable {
    private final OutputStream out;
    private final ByteBuffer header =
            ByteBuffer.allocate(PcapFormat.FILE_HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);

    private PcapWriter(OutputStream out) {
        this.out = out;
    }

    /** Creates or replaces a file. */
    public static PcapWriter create(Path file) throws IOException {
        return create(new BufferedOutputStream(Files.newOutputStream(file), 1 << 16));
    }

    /** Writes to a stream, which {@link #close()} closes. */
    public static PcapWriter create(OutputStream out) throws IOException {
        PcapWriter writer = new PcapWriter(out);
        try {
            writer.writeFileHeader();
        } catch (Throwable e) {
            out.close();
            throw e;
        }
        return writer;
    }

    private void writeFileHeader() throws IOException {
        header.clear();
        header.putInt(PcapFormat.MAGIC_NANOS);
        header.putShort((short) PcapFormat.VERSION_MAJOR).putShort((short) PcapFormat.VERSION_MINOR);
        // Time zone and accuracy of timestamps: always 0 by the format's own advice.
        header.putInt(0).putInt(0);
        header.putInt(PcapFormat.MAX_CAPTURED_BYTES).putInt(PcapFormat.LINKTYPE_ETHERNET);
        out.write(header.array(), 0, PcapFormat.FILE_HEADER_BYTES);
    }

    /**
     * Appends one frame.
     *
     * @param timestampNanos nanoseconds since 1970
     * @throws IllegalArgumentException if the frame is longer than the format's readers accept (262,144 bytes)
     */
    public void write(long timestampNanos, byte[] bytes, int offset, int lengthBytes) throws IOException {
        if (lengthBytes > PcapFormat.MAX_CAPTURED_BYTES) {
            throw new IllegalArgumentException("a pcap record holds at most " + PcapFormat.MAX_CAPTURED_BYTES
                    + " bytes, not " + lengthBytes);
        }
        header.clear();
        header.putInt((int) Math.floorDiv(timestampNanos, 1_000_000_000L));
        header.putInt((int) Math.floorMod(timestampNanos, 1_000_000_000L));
        header.putInt(lengthBytes).putInt(lengthBytes);
        out.write(header.array(), 0, PcapFormat.RECORD_HEADER_BYTES);
        out.write(bytes, offset, lengthBytes);
    }

    @Override
    public void close() throws IOException {
        out.close();
    }
}
