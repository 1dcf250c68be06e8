package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PolledRequestsTest {
    private static final String ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello";

    private final PolledRequests requests = new PolledRequests(Unpooled.unreleasableBuffer(ascii("GET")));
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
        assertEquals(2, requests.result().answeredInAll());
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
        assertEquals(3, requests.result().answeredInAll());
    }

    private void assertEndsWrong() {
        assertFalse(channel.isOpen());
        assertEquals(1, requests.result().wrong());
        assertEquals(1, requests.result().answeredInAll());
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
}
