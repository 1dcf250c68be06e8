package io.rdmaraw.microbench.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.function.ToIntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The requests of a connection and their answers. All answers to one kind of request have the same length.
 *
 * @param exchanges kinds of requests
 * @param which     maps the number of a request on its connection, counted from 0, to the index of its kind
 */
record Conversation(List<Exchange> exchanges, IntUnaryOperator which) {
    private static final Pattern LENGTH = Pattern.compile("(?i)\r\ncontent-length: *(\\d+)\r\n");
    private static final String HEAD_END = "\r\n\r\n";
    private static final String GOOD_HTTP = "HTTP/1.1 200 ";
    private static final String LINE_END = "\r\n";
    private static final int QUESTIONS_OF_SHORT = 10;
    private static final String KEY = "key:__rand_int__";
    private static final String VALUE = "xxx";
    private static final String SWITCHING = "HTTP/1.1 101 ";
    /** First byte of a WebSocket frame that contains a complete text message. */
    private static final int FINAL_TEXT = 0x81;
    private static final int IS_MASKED = 0x80;
    private static final int MASK_BYTES = 4;
    private static final int ECHO_BYTES = 64;

    /**
     * A request and its answer.
     *
     * @param question    bytes of the request; never released
     * @param good        beginning of a correct answer
     * @param decidesAt   index of the first byte in which a wrong answer differs from a correct one
     * @param answerBytes returns the length of an answer from its received part, or 0 if that part is too short
     * @param isLast      whether the server closes the connection after the answer
     */
    record Exchange(ByteBuf question, String good, int decidesAt, ToIntFunction<String> answerBytes, boolean isLast) {
    }

    Exchange exchange(int kind) {
        return exchanges.get(kind);
    }

    static Conversation http(String address, int port) {
        return new Conversation(List.of(http(address, port, "", false)), _ -> 0);
    }

    static Conversation shortHttp(String address, int port) {
        return new Conversation(List.of(http(address, port, "", false),
                http(address, port, "Connection: close\r\n", true)),
                number -> (number + 1) % QUESTIONS_OF_SHORT == 0 ? 1 : 0);
    }

    private static Exchange http(String address, int port, String header, boolean isLast) {
        return new Exchange(ascii("GET " + HttpShape.PLAINTEXT.path() + " HTTP/1.1\r\nHost: " + address + ':' + port
                + LINE_END + header + LINE_END), GOOD_HTTP, GOOD_HTTP.indexOf('2'), Conversation::httpBytes, isLast);
    }

    private static int httpBytes(String answer) {
        int end = answer.indexOf(HEAD_END);
        if (end < 0) {
            return 0;
        }
        Matcher length = LENGTH.matcher(answer.substring(0, end + 2));
        if (!length.find()) {
            throw new IllegalStateException("an answer without a length: " + answer);
        }
        return end + HEAD_END.length() + Integer.parseInt(length.group(1));
    }

    /** Returns the {@code GET} requests of redis-benchmark, preceded by a {@code SET} of the value. */
    static Conversation redis() {
        return new Conversation(List.of(
                new Exchange(command("SET", KEY, VALUE), "+OK", 0, Conversation::lineBytes, false),
                new Exchange(command("GET", KEY), "$3", 0, answer -> {
                    int line = lineBytes(answer);
                    return line == 0 ? 0 : line + VALUE.length() + LINE_END.length();
                }, false)), number -> Math.min(number, 1));
    }

    /** Returns a handshake (RFC 6455 section 4), followed by text frames. Only the client masks its frames. */
    static Conversation websocket(String address, int port) {
        ByteBuf text = Unpooled.directBuffer().writeByte(FINAL_TEXT).writeByte(IS_MASKED | ECHO_BYTES)
                .writeZero(MASK_BYTES).writeBytes("x".repeat(ECHO_BYTES).getBytes(StandardCharsets.US_ASCII));
        return new Conversation(List.of(
                new Exchange(ascii("GET / HTTP/1.1\r\nHost: " + address + ':' + port + "\r\nUpgrade: websocket\r\n"
                        + "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                        + "Sec-WebSocket-Version: 13\r\n\r\n"), SWITCHING, SWITCHING.indexOf(' ') + 1,
                        answer -> answer.contains(HEAD_END) ? answer.indexOf(HEAD_END) + HEAD_END.length() : 0, false),
                new Exchange(Unpooled.unreleasableBuffer(text), String.valueOf((char) FINAL_TEXT), 0,
                        _ -> 2 + ECHO_BYTES, false)), number -> Math.min(number, 1));
    }

    private static int lineBytes(String answer) {
        int end = answer.indexOf(LINE_END);
        return end < 0 ? 0 : end + LINE_END.length();
    }

    private static ByteBuf command(String... words) {
        StringBuilder text = new StringBuilder("*" + words.length + LINE_END);
        for (String word : words) {
            text.append('$').append(word.length()).append(LINE_END).append(word).append(LINE_END);
        }
        return ascii(text.toString());
    }

    private static ByteBuf ascii(String text) {
        return Unpooled.unreleasableBuffer(Unpooled.directBuffer()
                .writeBytes(text.getBytes(StandardCharsets.US_ASCII)));
    }
}
