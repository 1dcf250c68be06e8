package io.rdmaraw.net.takeover;

import io.rdmaraw.net.IpAddress;

import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * What the process that has ports (the predecessor) and the one that takes them over (the successor) say to each other.
 * In this order: {@link Hello}, {@link Offer} or {@link Refusal}, {@link Take}, {@link Stopped}, {@link Serving},
 * {@link Done}. From {@link Stopped} on the predecessor passes on frames. What is not as it should be ends the
 * connection: both are of one program, perhaps of two versions of it.
 *
 * <p>Each is a packet of a {@code SOCK_SEQPACKET} socket: the magic number, the version, the kind, and its fields in
 * network byte order.
 */
public sealed interface TakeoverMessage {
    int MAGIC = 0x5252_544f;
    int VERSION = 1;
    /** Ports that one process hands over: SCM_MAX_FD of Linux is 253. */
    int MAX_PORTS = 64;
    /** As long as a frame may be, and the header. */
    int MAX_BYTES = (1 << 16) + 64;
    int HEADER_BYTES = 8;

    /** The successor is there. */
    record Hello() implements TakeoverMessage {
    }

    /**
     * What can be taken over. The kernel's socket of each port comes with it, in the same order.
     *
     * @param clockNanos the predecessor's {@link System#nanoTime()}, by which its sequence numbers and cookies are made
     */
    record Offer(long secret0, long secret1, long fastOpenKeyHigh, long fastOpenKeyLow, long clockNanos,
                 List<Port> ports) implements TakeoverMessage {
        /** The keys are for no log. */
        @Override
        public String toString() {
            return "Offer" + ports;
        }
    }

    /** A listening port: the device, the address, which may be a wildcard, and the port. */
    record Port(String device, IpAddress local, int number) {
    }

    /** Why nothing can be taken over. */
    record Refusal(String reason) implements TakeoverMessage {
    }

    /** The successor is ready to serve these of the ports, by their places in the offer. */
    record Take(List<Integer> places) implements TakeoverMessage {
    }

    /**
     * The predecessor opens no connection on them any more.
     *
     * @param cookiesOut whether ACKs may come that answer SYN cookies of its
     */
    record Stopped(boolean cookiesOut) implements TakeoverMessage {
    }

    /** The successor opens connections. */
    record Serving() implements TakeoverMessage {
    }

    /** The predecessor passes on no more frames. */
    record Done() implements TakeoverMessage {
    }

    /** The predecessor has waited for too long, and serves again: the successor must not. */
    record Revoked() implements TakeoverMessage {
    }

    /**
     * A frame that the predecessor has received and that is for none of its connections.
     *
     * @param place of a port on the device that it came by
     */
    record Frame(int place, byte[] bytes) implements TakeoverMessage {
    }

    /** Returns the number of a kind in the header. */
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

    /** Returns the packet. */
    static byte[] encode(TakeoverMessage message) {
        int mostBytes = message instanceof Frame frame ? HEADER_BYTES + Short.BYTES + frame.bytes.length : MAX_BYTES;
        ByteBuffer out = ByteBuffer.allocate(mostBytes);
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
                out.putShort((short) take.places.size());
                take.places.forEach(place -> out.putShort(place.shortValue()));
            }
            case Stopped stopped -> out.put((byte) (stopped.cookiesOut ? 1 : 0));
            case Frame frame -> out.putShort((short) frame.place).put(frame.bytes);
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
     * Reads a packet.
     *
     * @throws IOException when it is not one of this protocol, or of another version
     */
    static TakeoverMessage decode(byte[] packet) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(packet);
        if (packet.length < HEADER_BYTES || in.getInt() != MAGIC) {
            throw new IOException("what came is no message of a takeover");
        }
        int version = Short.toUnsignedInt(in.getShort());
        if (version != VERSION) {
            throw new IOException("the other process speaks version " + version + " of the takeover's protocol, this "
                    + "one version " + VERSION + ": stop it and start this one instead");
        }
        int kind = Short.toUnsignedInt(in.getShort());
        try {
            TakeoverMessage message = body(kind, in);
            if (in.hasRemaining()) {
                throw new IOException("a message of kind " + kind + " is " + in.remaining() + " bytes too long");
            }
            return message;
        } catch (BufferUnderflowException e) {
            throw new IOException("a message of kind " + kind + " is cut short at " + packet.length + " bytes", e);
        }
    }

    private static TakeoverMessage body(int kind, ByteBuffer in) throws IOException {
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
            default -> throw new IOException("a message of kind " + kind + ", which there is not");
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
        List<Integer> places = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int place = Short.toUnsignedInt(in.getShort());
            if (place >= MAX_PORTS || places.contains(place)) {
                throw new IOException("a message that takes port " + place + ", which cannot be");
            }
            places.add(place);
        }
        return new Take(List.copyOf(places));
    }

    private static Frame frame(ByteBuffer in) {
        int place = Short.toUnsignedInt(in.getShort());
        byte[] bytes = new byte[in.remaining()];
        in.get(bytes);
        return new Frame(place, bytes);
    }

    private static String text(ByteBuffer in, int lengthBytes) {
        byte[] bytes = new byte[Math.min(lengthBytes, in.remaining() + 1)];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
