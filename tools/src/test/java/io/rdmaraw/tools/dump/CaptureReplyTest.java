package io.rdmaraw.tools.dump;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmaraw.tools.command.ToolException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CaptureReplyTest {
    private static ByteBuffer valid() {
        ByteBuffer reply = ByteBuffer.allocate(200);
        reply.put((byte) 1).putInt(3).putInt(1).putInt(1).putInt(2);
        for (String text : List.of("soft:loop", "loop\033[2J")) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            reply.putInt(bytes.length).put(bytes);
        }
        reply.putLong(9).putLong(4);
        reply.putInt(1).putInt(3).putInt(60).putLong(77).put((byte) 2).put(new byte[] {'n', '\n'}).put((byte) 1)
                .put((byte) 'c').put(new byte[] {5, 6, 7});
        return reply.limit(reply.position());
    }

    private static byte[] bytes(ByteBuffer reply) {
        return Arrays.copyOf(reply.array(), reply.limit());
    }

    @Test
    void replyIsRead() {
        CaptureReply reply = CaptureReply.parse(bytes(valid()), 0);
        assertEquals(List.of(new CaptureReply.Point("soft:loop", 2, "loop?[2J")), reply.newPoints());
        assertEquals(3, reply.uncapturedQueues());
        assertArrayEquals(new long[] {9}, reply.seen());
        assertArrayEquals(new long[] {4}, reply.dropped());
        CaptureReply.Frame frame = reply.frames().getFirst();
        assertEquals(60, frame.lengthBytes());
        assertEquals("n?", frame.dropReason());
        assertEquals("c", frame.channel());
        assertArrayEquals(new byte[] {5, 6, 7}, frame.bytes());
        assertThrows(ToolException.class, () -> CaptureReply.parse(bytes(valid()), 1));
    }

    @Test
    void malformedReplyIsRejected() {
        byte[] valid = bytes(valid());
        Random random = new Random(5);
        for (int i = 0; i < 100_000; i++) {
            byte[] reply = Arrays.copyOf(valid, i < valid.length ? i : valid.length);
            if (i >= valid.length) {
                reply[random.nextInt(reply.length)] = (byte) random.nextInt();
            }
            try {
                CaptureReply.parse(reply, 0);
            } catch (ToolException e) {
                assertEquals("the process sent a malformed reply", e.getMessage());
            }
        }
    }
}
