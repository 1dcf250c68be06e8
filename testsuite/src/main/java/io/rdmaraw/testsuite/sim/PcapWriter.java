package io.rdmaraw.testsuite.sim;

import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes IP packets as a capture file that tshark and tcpdump read: nanosecond pcap, link type RAW. */
public final class PcapWriter implements Closeable {
    private static final int MAGIC_NANOSECONDS = 0xa1b2_3c4d;
    private static final int LINKTYPE_RAW = 101;
    private static final int SNAP_LENGTH_BYTES = 262_144;

    private final OutputStream out;

    /** Creates the file and its directory. */
    public PcapWriter(Path file) throws IOException {
        if (file.getParent() != null) {
            Files.createDirectories(file.getParent());
        }
        out = new BufferedOutputStream(Files.newOutputStream(file));
        out.write(ByteBuffer.allocate(24).putInt(MAGIC_NANOSECONDS).putShort((short) 2).putShort((short) 4).putInt(0)
                .putInt(0).putInt(SNAP_LENGTH_BYTES).putInt(LINKTYPE_RAW).array());
    }

    /** Writes one packet. */
    public void write(long timeNanos, byte[] packet) throws IOException {
        out.write(ByteBuffer.allocate(16).putInt((int) (timeNanos / 1_000_000_000)).putInt((int) (timeNanos
                % 1_000_000_000)).putInt(packet.length).putInt(packet.length).array());
        out.write(packet);
    }

    @Override
    public void close() throws IOException {
        out.close();
    }
}
