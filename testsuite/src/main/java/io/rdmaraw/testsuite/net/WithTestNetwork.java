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
 * The tests of this class take a {@link TestNetwork} as a parameter. They need root, which their tag says: the fast
 * tests leave them out.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@Tag("root")
@ExtendWith(NetworkExtension.class)
public @interface WithTestNetwork {
}
