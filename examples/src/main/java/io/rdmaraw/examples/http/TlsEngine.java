package io.rdmaraw.examples.http;

import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslProvider;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Who does the cryptography of TLS. */
enum TlsEngine {
    JDK, OPENSSL;

    /** @param engineOrNull null for OpenSSL where it is on the class path, and the JDK elsewhere */
    static SslProvider provider(TlsEngine engineOrNull) {
        if (engineOrNull == null) {
            return SslContext.defaultServerProvider();
        }
        return engineOrNull == JDK ? SslProvider.JDK : SslProvider.OPENSSL;
    }

    /** Parses the name in an option of a command. */
    static final class Name implements ITypeConverter<TlsEngine> {
        @Override
        public TlsEngine convert(String name) {
            return switch (name) {
                case "jdk" -> JDK;
                case "openssl" -> {
                    if (!OpenSsl.isAvailable()) {
                        throw new TypeConversionException("OpenSSL is not there: netty-tcnative-boringssl-static has to"
                                + " be on the class path, for this processor");
                    }
                    yield OPENSSL;
                }
                default -> throw new TypeConversionException('\'' + name + "' is neither jdk nor openssl");
            };
        }
    }
}
