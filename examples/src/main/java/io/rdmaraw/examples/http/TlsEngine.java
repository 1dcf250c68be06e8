package io.rdmaraw.examples.http;

import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslProvider;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** The implementation of TLS. */
enum TlsEngine {
    JDK, OPENSSL;

    /**
     * Returns the provider of an engine.
     *
     * @param engineOrNull null for OpenSSL if it is on the class path, otherwise the JDK
     */
    static SslProvider provider(TlsEngine engineOrNull) {
        if (engineOrNull == null) {
            return SslContext.defaultServerProvider();
        }
        return engineOrNull == JDK ? SslProvider.JDK : SslProvider.OPENSSL;
    }

    /** Parses the name in a command line option. */
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
