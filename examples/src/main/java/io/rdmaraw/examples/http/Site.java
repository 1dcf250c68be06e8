package io.rdmaraw.examples.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpHeadersFactory;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AsciiString;
import io.netty.util.CharsetUtil;

/** The pages of the HTTP servers, which are the same for all versions of the protocol. */
final class Site {
    /** Maximum length of a request's content. Longer requests are rejected. */
    static final int MAX_REQUEST_BYTES = 1 << 24;

    private static final String BYTES_PATH = "/bytes/";
    private static final int MAX_ANSWER_BYTES = 1 << 28;
    private static final ByteBuf INDEX = constant("""
            /plaintext    a line of text
            /json         the same as JSON
            /bytes/N      N bytes, 0 to 250 over and over
            /echo         what is posted to it, up to 16 MiB
            /sha256       the SHA-256 of what is posted to it, however much it is
            """);
    private static final ByteBuf PLAINTEXT = constant("Hello, World!");
    private static final ByteBuf JSON = constant("{\"message\":\"Hello, World!\"}");
    private static final ByteBuf NOT_FOUND = constant("There is no such page.\n");
    private static final ByteBuf WRONG_METHOD = constant("This page does not take that method.\n");
    /** A prime, so that lost or duplicated blocks of any common size are detected. */
    private static final int PATTERN_PERIOD = 251;
    private static final HttpHeadersFactory HEADERS = DefaultHttpHeadersFactory.headersFactory().withValidation(false);
    private static final ByteBuf PATTERN = pattern();

    private Site() {
    }

    private static ByteBuf constant(String text) {
        byte[] bytes = text.getBytes(CharsetUtil.UTF_8);
        return Unpooled.unreleasableBuffer(Unpooled.directBuffer(bytes.length).writeBytes(bytes));
    }

    private static ByteBuf pattern() {
        ByteBuf buffer = Unpooled.directBuffer(PATTERN_PERIOD * 256);
        while (buffer.isWritable()) {
            buffer.writeByte(buffer.writerIndex() % PATTERN_PERIOD);
        }
        return Unpooled.unreleasableBuffer(buffer);
    }

    /** Returns the response to a request. The caller keeps ownership of the request. */
    static FullHttpResponse respond(FullHttpRequest request, ByteBufAllocator allocator) {
        String path = request.uri();
        boolean reads = request.method().equals(HttpMethod.GET) || request.method().equals(HttpMethod.HEAD);
        if (path.equals("/sha256")) {
            return wrongMethod(HttpMethod.POST);
        }
        if (path.equals("/echo")) {
            return request.method().equals(HttpMethod.POST)
                    ? response(HttpResponseStatus.OK, HttpHeaderValues.APPLICATION_OCTET_STREAM,
                            request.content().retainedSlice())
                    : wrongMethod(HttpMethod.POST);
        }
        FullHttpResponse page = switch (path) {
            case "/plaintext" -> page(HttpHeaderValues.TEXT_PLAIN, PLAINTEXT);
            case "/json" -> page(HttpHeaderValues.APPLICATION_JSON, JSON);
            case "/" -> page(HttpHeaderValues.TEXT_PLAIN, INDEX);
            default -> bytes(path, allocator);
        };
        if (reads) {
            return page;
        }
        page.release();
        return wrongMethod(HttpMethod.GET);
    }

    /** Returns the response to a request for {@code /sha256}. */
    static FullHttpResponse digest(String digest) {
        return response(HttpResponseStatus.OK, HttpHeaderValues.TEXT_PLAIN,
                Unpooled.copiedBuffer(digest, CharsetUtil.US_ASCII));
    }

    private static FullHttpResponse wrongMethod(HttpMethod right) {
        FullHttpResponse response = response(HttpResponseStatus.METHOD_NOT_ALLOWED, HttpHeaderValues.TEXT_PLAIN,
                WRONG_METHOD.duplicate());
        response.headers().set(HttpHeaderNames.ALLOW, right.asciiName());
        return response;
    }

    private static FullHttpResponse page(AsciiString type, ByteBuf content) {
        return response(HttpResponseStatus.OK, type, content.duplicate());
    }

    private static FullHttpResponse bytes(String path, ByteBufAllocator allocator) {
        int length = -1;
        if (path.startsWith(BYTES_PATH)) {
            try {
                length = Integer.parseInt(path, BYTES_PATH.length(), path.length(), 10);
            } catch (NumberFormatException e) {
                // Not a number, so there is no such page.
            }
        }
        if (length < 0 || length > MAX_ANSWER_BYTES) {
            return response(HttpResponseStatus.NOT_FOUND, HttpHeaderValues.TEXT_PLAIN, NOT_FOUND.duplicate());
        }
        int blocks = length / PATTERN.readableBytes();
        var content = allocator.compositeBuffer(blocks + 1);
        for (int i = 0; i < blocks; i++) {
            content.addComponent(true, PATTERN.duplicate());
        }
        content.addComponent(true, PATTERN.slice(0, length % PATTERN.readableBytes()));
        return response(HttpResponseStatus.OK, HttpHeaderValues.APPLICATION_OCTET_STREAM, content);
    }

    /**
     * Creates a response. Header names and values are constants of this program, so Netty does not need to validate
     * them.
     */
    private static FullHttpResponse response(HttpResponseStatus status, AsciiString type, ByteBuf content) {
        HttpHeaders headers = HEADERS.newHeaders().add(HttpHeaderNames.CONTENT_TYPE, type)
                .addInt(HttpHeaderNames.CONTENT_LENGTH, content.readableBytes())
                .add(HttpHeaderNames.DATE, HttpDate.now());
        return new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, content, headers, EmptyHttpHeaders.INSTANCE);
    }
}
