package io.rdmaraw.takeover;

import io.rdmaraw.net.IpAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

class TakeoverMessageTest {
    private static final int VERSION_AT = 4;
    private static final int KIND_AT = 6;
    private static final int OFFER_COUNT_AT = TakeoverMessage.HEADER_BYTES + 5 * Long.BYTES;

    private static Stream<TakeoverMessage> messages() {
        return Stream.of(new TakeoverMessage.Hello(), offer(), new TakeoverMessage.Refusal("because"),
                new TakeoverMessage.Take(List.of(0, 5, 2)), new TakeoverMessage.Stopped(true),
                new TakeoverMessage.Stopped(false), new TakeoverMessage.Serving(), new TakeoverMessage.Done(),
                new TakeoverMessage.Revoked());
    }

    private static TakeoverMessage.Offer offer() {
        return new TakeoverMessage.Offer(1, 2, 3, 4, 5, List.of(
                new TakeoverMessage.Port("soft:packet:eth1", IpAddress.parse("10.0.0.1"), 8080),
                new TakeoverMessage.Port("soft:packet:eth1", IpAddress.ANY_IPV6, 65535)));
    }

    @ParameterizedTest
    @MethodSource("messages")
    void messagesAreDecodedAsEncoded(TakeoverMessage message) throws IOException {
        assertEquals(message, TakeoverMessage.decode(TakeoverMessage.encode(message)));
    }

    @Test
    void offerDoesNotPrintItsKeys() {
        TakeoverMessage.Offer offer = new TakeoverMessage.Offer(123456789L, 223456789L, 323456789L, 423456789L, 5,
                offer().ports());
        assertFalse(offer.toString().contains("23456789"), offer.toString());
        assertTrue(offer.toString().contains("soft:packet:eth1"), offer.toString());
    }

    @Test
    void frameIsDecodedAsEncoded() throws IOException {
        byte[] bytes = new byte[1 << 16];
        new Random(1).nextBytes(bytes);
        byte[] packet = TakeoverMessage.encode(new TakeoverMessage.Frame(7, bytes));
        assertTrue(packet.length <= TakeoverMessage.MAX_BYTES, "the longest frame fits into a message");
        TakeoverMessage.Frame read = assertInstanceOf(TakeoverMessage.Frame.class, TakeoverMessage.decode(packet));
        assertEquals(7, read.portIndex());
        assertArrayEquals(bytes, read.bytes());
    }

    /** A refusal's text and a frame may have any length; all other messages have fixed fields. */
    @ParameterizedTest
    @MethodSource("messages")
    void truncatedAndExtendedMessagesAreRejected(TakeoverMessage message) {
        byte[] packet = TakeoverMessage.encode(message);
        int shortest = message instanceof TakeoverMessage.Refusal ? TakeoverMessage.HEADER_BYTES : packet.length;
        for (int length = 0; length < shortest; length++) {
            byte[] cut = Arrays.copyOf(packet, length);
            assertThrows(IOException.class, () -> TakeoverMessage.decode(cut), message + " cut to " + length);
        }
        if (!(message instanceof TakeoverMessage.Refusal)) {
            byte[] longer = Arrays.copyOf(packet, packet.length + 1);
            assertThrows(IOException.class, () -> TakeoverMessage.decode(longer));
        }
    }

    @Test
    void wrongLengthsAreRejected() {
        ByteBuffer many = ByteBuffer.wrap(TakeoverMessage.encode(offer()));
        many.putShort(OFFER_COUNT_AT, (short) 0xffff);
        assertThrows(IOException.class, () -> TakeoverMessage.decode(many.array()), "65,535 ports");
        ByteBuffer more = ByteBuffer.wrap(TakeoverMessage.encode(offer()));
        more.putShort(OFFER_COUNT_AT, (short) 3);
        assertThrows(IOException.class, () -> TakeoverMessage.decode(more.array()), "one port more than there is");
        ByteBuffer device = ByteBuffer.wrap(TakeoverMessage.encode(offer()));
        device.put(OFFER_COUNT_AT + Short.BYTES + 2 * Long.BYTES + Short.BYTES, (byte) 0xff);
        assertThrows(IOException.class, () -> TakeoverMessage.decode(device.array()), "a device's name of 255 bytes");
    }

    @Test
    void portCanBeTakenOnlyOnce() {
        assertThrows(IOException.class,
                () -> TakeoverMessage.decode(TakeoverMessage.encode(new TakeoverMessage.Take(List.of(1, 1)))));
        assertThrows(IOException.class, () -> TakeoverMessage.decode(
                TakeoverMessage.encode(new TakeoverMessage.Take(List.of(TakeoverMessage.MAX_PORTS)))));
    }

    @Test
    void otherVersionIsReportedWithRemedy() {
        byte[] packet = TakeoverMessage.encode(new TakeoverMessage.Hello());
        ByteBuffer.wrap(packet).putShort(VERSION_AT, (short) (TakeoverMessage.VERSION + 1));
        IOException e = assertThrows(IOException.class, () -> TakeoverMessage.decode(packet));
        assertTrue(e.getMessage().contains("version 2") && e.getMessage().contains("stop it"), e.getMessage());
    }

    @Test
    void otherProtocolsAndUnknownKindsAreRejected() {
        byte[] packet = TakeoverMessage.encode(new TakeoverMessage.Hello());
        byte[] foreign = packet.clone();
        foreign[0] ^= 1;
        assertThrows(IOException.class, () -> TakeoverMessage.decode(foreign));
        for (short kind : new short[] {0, 10, -1}) {
            byte[] unknown = packet.clone();
            ByteBuffer.wrap(unknown).putShort(KIND_AT, kind);
            assertThrows(IOException.class, () -> TakeoverMessage.decode(unknown), "kind " + kind);
        }
    }

    /** Any input results in a message or an IOException. */
    @Test
    void randomInputCausesOnlyIoExceptions() {
        Random random = new Random(7);
        List<TakeoverMessage> all = messages().toList();
        for (int i = 0; i < 20_000; i++) {
            byte[] packet = TakeoverMessage.encode(all.get(random.nextInt(all.size())));
            for (int changes = random.nextInt(1, 8); changes > 0; changes--) {
                packet[random.nextInt(packet.length)] = (byte) random.nextInt();
            }
            byte[] cut = Arrays.copyOf(packet, random.nextInt(packet.length + 8));
            try {
                TakeoverMessage.decode(cut);
            } catch (IOException e) {
                assertTrue(e.getMessage() != null && !e.getMessage().isEmpty(), "it says why");
            }
        }
    }
}
