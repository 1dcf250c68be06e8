package io.rdmaraw.takeover;

import io.rdmaraw.net.IpAddress;

import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A message between the process that has the ports (the predecessor) and the process that takes them over (the
 * successor). The order is {@link Hello}, {@link Offer} or {@link Refusal}, {@link Take}, {@link Stopped},
 * {@link Serving}, {@link Done}. The predecessor forwards frames from {@link Stopped} until {@link Done}. A message out
 * of order or malformed ends the connection: the two processes may run different versions of the program.
 *
 * <p>A message is one packet of a {@code SOCK_SEQPACKET} socket: magic number, version, kind, and the fields in network
 * byte order.
 */
public sealed interface TakeoverMessage {
    int MAGIC = 0x5252_544f;
    int VERSION = 1;
    /** Maximum number of ports in one takeover. Linux passes at most 253 descriptors in a message (SCM_MAX_FD). */
    int MAX_PORTS = 64;
    /** Maximum length of a message: the longest frame and the header. */
    int MAX_BYTES = (1 << 16) + 64;
    int HEADER_BYTES = 8;

    /** First message of the successor. */
    record Hello() implements TakeoverMessage {
    }

    /**
     * The ports that can be taken over, with the secrets of the predecessor. The kernel's sockets on the ports come
     * with this message, in the same order.
     *
     * @param clockNanos {@link System#nanoTime()} of the predecessor, the clock of its sequence numbers and SYN cookies
     */
    record Offer(long secret0, long secret1, long fastOpenKeyHigh, long fastOpenKeyLow, long clockNanos,
                 List<Port> ports) implements TakeoverMessage {
        /** Omits the keys, which must not appear in logs. */
        @Override
        public String toString() {
            return "Offer" + ports;
        }
    }

    /**
     * A listening port.
     *
     * @param local address, may be a wildcard
     */
    record Port(String device, IpAddress local, int number) {
    }

    /** Answer to {@link Hello} if the predecessor does not hand over its ports. */
    record Refusal(String reason) implements TakeoverMessage {
    }

    /** The successor is ready to serve the ports at these places of the offer. */
    record Take(List<Integer> portIndexes) implements TakeoverMessage {
    }

    /**
     * The predecessor opens no more connections on these ports.
     *
     * @param cookiesOutstanding whether clients may still return SYN cookies of the predecessor
     */
    record Stopped(boolean cookiesOutstanding) implements TakeoverMessage {
    }

    /** The successor opens connections. */
    record Serving() implements TakeoverMessage {
    }

    /** The predecessor forwards no more frames. */
    record Done() implements TakeoverMessage {
    }

    /** The predecessor has waited too long and serves again: the successor must not serve. */
    record Revoked() implements TakeoverMessage {
    }

    /**
     * A frame that the predecessor has received and that belongs to none of its connections.
     *
     * @param portIndex place in the offer of a port on the device that received the frame
     */
    record Frame(int portIndex, byte[] bytes) implements TakeoverMessage {
    }

    /** Returns the number in the header that identifies the kind of a message. */
    private static int kindOf(TakeoverMessage message) {
        return switch (message) {
            case Hello m -> 1;
            case Offer m -> 2;
            case Refusal m -> 3;
            case Take m -> 4;
            case Stopped m -> 5;
            case Serving m -> 6;
            case Done m -> 7;
            case Revoked m -> 8;
            case Frame m -> 9;
        };
    }

    /** Returns the packet for a message. */
    static byte[] encode(TakeoverMessage message) {
        int maxBytes = message instanceof Frame frame ? HEADER_BYTES + Short.BYTES + frame.bytes.length : MAX_BYTES;
        ByteBuffer out = ByteBuffer.allocate(maxBytes);
        out.putInt(MAGIC).putShort((short) VERSION).putShort((short) kindOf(message));
        switch (message) {
            case Offer offer -> {
                out.putLong(offer.secret0).putLong(offer.secret1).putLong(offer.fastOpenKeyHigh)
                        .putLong(offer.fastOpenKeyLow).putLong(offer.clockNanos)
                        .putShort((short) offer.ports.size());
                for (Port port : offer.ports) {
                    byte[] device = port.device.getBytes(StandardCharsets.UTF_8);
                    out.putLong(port.local.high()).putLong(port.local.low()).putShort((short) port.number)
                            .put((byte) device.length).put(device);
                }
            }
            case Refusal refusal -> out.put(refusal.reason.getBytes(StandardCharsets.UTF_8));
            case Take take -> {
                out.putShort((short) take.portIndexes.size());
                take.portIndexes.forEach(portIndex -> out.putShort(portIndex.shortValue()));
            }
            case Stopped stopped -> out.put((byte) (stopped.cookiesOutstanding ? 1 : 0));
            case Frame frame -> out.putShort((short) frame.portIndex).put(frame.bytes);
            case Hello m -> { }
            case Serving m -> { }
            case Done m -> { }
            case Revoked m -> { }
        }
        byte[] packet = new byte[out.position()];
        out.flip().get(packet);
        return packet;
    }

    /**
     * Returns the message of a packet.
     *
     * @throws IOException if the packet is malformed or of another version
     */
    static TakeoverMessage decode(byte[] packet) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(packet);
        if (packet.length < HEADER_BYTES || in.getInt() != MAGIC) {
            throw new IOException("what came is no message of a takeover");
        }
        int version = Short.toUnsignedInt(in.getShort());
        if (version != VERSION) {
            throw new IOException("the other process uses version " + version + " of the takeover protocol, and this"
                    + " process version " + VERSION + ": stop it and start this one instead");
        }
        int kind = Short.toUnsignedInt(in.getShort());
        try {
            TakeoverMessage message = decodeBody(kind, in);
            if (in.hasRemaining()) {
                throw new IOException("a message of kind " + kind + " is " + in.remaining() + " bytes too long");
            }
            return message;
        } catch (BufferUnderflowException e) {
            throw new IOException("a message of kind " + kind + " is cut short at " + packet.length + " bytes", e);
        }
    }

    private static TakeoverMessage decodeBody(int kind, ByteBuffer in) throws IOException {
        return switch (kind) {
            case 1 -> new Hello();
            case 2 -> offer(in);
            case 3 -> new Refusal(text(in, in.remaining()));
            case 4 -> take(in);
            case 5 -> new Stopped(in.get() != 0);
            case 6 -> new Serving();
            case 7 -> new Done();
            case 8 -> new Revoked();
            case 9 -> frame(in);
            default -> throw new IOException("a message of unknown kind " + kind);
        };
    }

    private static int count(ByteBuffer in) throws IOException {
        int count = Short.toUnsignedInt(in.getShort());
        if (count > MAX_PORTS) {
            throw new IOException("a message of " + count + " ports; " + MAX_PORTS + " at most are handed over");
        }
        return count;
    }

    private static Offer offer(ByteBuffer in) throws IOException {
        long secret0 = in.getLong();
        long secret1 = in.getLong();
        long fastOpenKeyHigh = in.getLong();
        long fastOpenKeyLow = in.getLong();
        long clockNanos = in.getLong();
        int count = count(in);
        List<Port> ports = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            IpAddress local = new IpAddress(in.getLong(), in.getLong());
            int number = Short.toUnsignedInt(in.getShort());
            ports.add(new Port(text(in, Byte.toUnsignedInt(in.get())), local, number));
        }
        return new Offer(secret0, secret1, fastOpenKeyHigh, fastOpenKeyLow, clockNanos, List.copyOf(ports));
    }

    private static Take take(ByteBuffer in) throws IOException {
        int count = count(in);
        List<Integer> portIndexes = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int portIndex = Short.toUnsignedInt(in.getShort());
            if (portIndex >= MAX_PORTS || portIndexes.contains(portIndex)) {
                throw new IOException("a message with the invalid or repeated port index " + portIndex);
            }
            portIndexes.add(portIndex);
        }
        return new Take(List.copyOf(portIndexes));
    }

    private static Frame frame(ByteBuffer in) {
        int portIndex = Short.toUnsignedInt(in.getShort());
        byte[] bytes = new byte[in.remaining()];
        in.get(bytes);
        return new Frame(portIndex, bytes);
    }

    private static String text(ByteBuffer in, int lengthBytes) {
        byte[] bytes = new byte[Math.min(lengthBytes, in.remaining() + 1)];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
