package io.rdmaraw.testsuite.net;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Enables {@link TestNetwork} parameters for the tests of a class. The tests require root; the fast tests exclude them
 * by their tag.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@Tag("root")
@ExtendWith(NetworkExtension.class)
public @interface WithTestNetwork {
}
