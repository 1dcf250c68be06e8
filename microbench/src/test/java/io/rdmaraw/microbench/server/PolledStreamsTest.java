package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PolledStreamsTest {
    private static final String ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello";

    private final PolledStreams requests = new PolledStreams(Conversation.http("192.0.2.1", 80));
    private final EmbeddedChannel channel = new EmbeddedChannel(requests.newHandler());

    private static ByteBuf ascii(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII);
    }

    private void receive(String text) {
        channel.writeInbound(ascii(text));
    }

    @Test
    void theNextRequestLeavesWhenTheWholeAnswerIsThere() {
        requests.begin(channel);
        assertNotNull(channel.readOutbound());
        receive(ANSWER.substring(0, 20));
        receive(ANSWER.substring(20, ANSWER.length() - 1));
        assertNull(channel.readOutbound());
        receive(ANSWER.substring(ANSWER.length() - 1));
        assertNotNull(channel.readOutbound());
        receive(ANSWER.substring(0, 3));
        assertNull(channel.readOutbound());
        receive(ANSWER.substring(3));
        assertNotNull(channel.readOutbound());
        assertEquals(2, requests.answeredInAll());
        assertEquals(0, requests.result().wrong());
    }

    @Test
    void timesAreThoseSinceTheMeasurementBegan() {
        requests.begin(channel);
        receive(ANSWER);
        requests.startMeasuring();
        receive(ANSWER);
        receive(ANSWER);
        assertEquals(2, requests.result().nanos().getTotalCount());
        assertEquals(3, requests.answeredInAll());
    }

    private void assertEndsWrong() {
        assertFalse(channel.isOpen());
        assertEquals(1, requests.result().wrong());
        assertEquals(1, requests.answeredInAll());
    }

    @ParameterizedTest
    @ValueSource(strings = {"HTTP/1.1 503 OK\r\nContent-Length: 5\r\n\r\nHello",
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nHello!"})
    void anotherStatusOrLengthEndsTheConnection(String other) {
        requests.begin(channel);
        receive(ANSWER);
        receive(other);
        assertEndsWrong();
    }

    @Test
    void aConnectionThatTheServerEndsIsNotForgotten() {
        requests.begin(channel);
        receive(ANSWER);
        channel.close();
        assertEndsWrong();
    }

    @Test
    void connectionsMayEndWhenAllIsMeasured() {
        requests.begin(channel);
        receive(ANSWER);
        requests.result();
        channel.close();
        assertEquals(0, requests.result().wrong());
    }

    @Test
    void anAnswerWithoutLengthEndsTheConnection() {
        requests.begin(channel);
        receive("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        assertFalse(channel.isOpen());
        assertEquals(1, requests.result().wrong());
    }

    /** The client must set the value first, because the answer for a missing key has another length. */
    @Test
    void redisClientSetsTheKeyBeforeItReadsIt() {
        PolledStreams gets = new PolledStreams(Conversation.redis());
        EmbeddedChannel redis = new EmbeddedChannel(gets.newHandler());
        gets.begin(redis);
        assertTrue(text(redis).startsWith("*3\r\n$3\r\nSET\r\n"));
        redis.writeInbound(ascii("+OK\r\n"));
        for (int i = 0; i < 2; i++) {
            assertTrue(text(redis).startsWith("*2\r\n$3\r\nGET\r\n"));
            redis.writeInbound(ascii("$3\r\nxx"));
            assertNull(redis.readOutbound());
            redis.writeInbound(ascii("x\r\n"));
        }
        assertEquals(3, gets.answeredInAll());
        redis.writeInbound(ascii("-ERR no\r\n"));
        assertFalse(redis.isOpen());
        assertEquals(1, gets.result().wrong());
    }

    private static String text(EmbeddedChannel channel) {
        return ((ByteBuf) channel.readOutbound()).toString(StandardCharsets.US_ASCII);
    }

    /** The tenth request asks the server to close the connection. Its answer may be longer than the others. */
    @Test
    void aShortConnectionEndsWithItsTenthAnswer() {
        PolledStreams shorts = new PolledStreams(Conversation.shortHttp("192.0.2.1", 80));
        EmbeddedChannel connection = new EmbeddedChannel(shorts.newHandler());
        shorts.begin(connection);
        for (int i = 1; i < 10; i++) {
            assertFalse(text(connection).contains("Connection: close"));
            connection.writeInbound(ascii(ANSWER));
        }
        assertTrue(text(connection).contains("Connection: close\r\n"));
        connection.writeInbound(ascii("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nHello"));
        assertNull(connection.readOutbound());
        assertTrue(connection.isOpen());
        assertEquals(10, shorts.answeredInAll());
        assertEquals(0, shorts.result().wrong());
    }

    /** The client sends text frames after the handshake. Any other frame ends the connection. */
    @Test
    void aWebSocketSendsTextsBack() {
        PolledStreams texts = new PolledStreams(Conversation.websocket("192.0.2.1", 80));
        EmbeddedChannel socket = new EmbeddedChannel(texts.newHandler());
        texts.begin(socket);
        assertTrue(text(socket).startsWith("GET / HTTP/1.1\r\n"));
        socket.writeInbound(ascii("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"));
        for (int i = 0; i < 2; i++) {
            assertEquals(2 + 4 + 64, ((ByteBuf) socket.readOutbound()).readableBytes());
            socket.writeInbound(Unpooled.buffer().writeByte(0x81).writeByte(64).writeZero(30));
            socket.writeInbound(Unpooled.buffer().writeZero(34));
        }
        assertEquals(3, texts.answeredInAll());
        socket.writeInbound(Unpooled.buffer().writeByte(0x88).writeByte(64).writeZero(64));
        assertFalse(socket.isOpen());
        assertEquals(1, texts.result().wrong());
    }
}
