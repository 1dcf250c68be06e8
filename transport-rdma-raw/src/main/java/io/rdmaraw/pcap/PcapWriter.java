package io.rdmaraw.pcap;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes packets to a pcap file with nanosecond timestamps, in little-endian order. Not thread-safe. */
public final class PcapWriter implements AutoCloseable {
    private static final long NANOS_PER_SECOND = 1_000_000_000L;
    private static final int BUFFER_BYTES = 1 << 16;

    private final OutputStream out;
    private final ByteBuffer header =
            ByteBuffer.allocate(PcapFormat.FILE_HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);

    private PcapWriter(OutputStream out) {
        this.out = out;
    }

    /**
     * Creates or replaces a file.
     *
     * @param linkType link type such as {@link PcapFormat#LINKTYPE_ETHERNET}
     */
    public static PcapWriter create(Path file, int linkType) throws IOException {
        return create(new BufferedOutputStream(Files.newOutputStream(file), BUFFER_BYTES), linkType);
    }

    /** Creates a writer to a stream. {@link #close()} closes the stream. */
    public static PcapWriter create(OutputStream out, int linkType) throws IOException {
        PcapWriter writer = new PcapWriter(out);
        try {
            PcapFormat.putFileHeader(writer.header, PcapFormat.MAX_CAPTURED_BYTES, linkType);
            writer.writeHeader();
        } catch (Throwable e) {
            out.close();
            throw e;
        }
        return writer;
    }

    /**
     * Appends a packet.
     *
     * @param timestampNanos nanoseconds since 1970
     * @throws IllegalArgumentException if the packet is longer than 262,144 bytes, the maximum that readers
     *     accept
     */
    public void write(long timestampNanos, byte[] bytes, int offset, int lengthBytes) throws IOException {
        if (lengthBytes > PcapFormat.MAX_CAPTURED_BYTES) {
            throw new IllegalArgumentException("a pcap record holds at most " + PcapFormat.MAX_CAPTURED_BYTES
                    + " bytes, not " + lengthBytes);
        }
        PcapFormat.putRecordHeader(header, Math.floorDiv(timestampNanos, NANOS_PER_SECOND),
                (int) Math.floorMod(timestampNanos, NANOS_PER_SECOND), lengthBytes, lengthBytes);
        writeHeader();
        out.write(bytes, offset, lengthBytes);
    }

    private void writeHeader() throws IOException {
        out.write(header.array(), 0, header.position());
        header.clear();
    }

    @Override
    public void close() throws IOException {
        out.close();
    }
}
