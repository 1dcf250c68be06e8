package io.rdmaraw;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Compares the public API with a file, so that each change of the API is a deliberate change of this file. After the
 * first release, the file of its tag shows which declarations must remain. {@code -Drdmaraw.golden=write} writes the
 * file.
 */
class PublicApiTest {
    private static final Path FILE = Path.of("src", "test", "resources", "api", "io.rdmaraw.txt");
    private static final String INDENT = "    ";

    @Test
    void apiEqualsFile() throws Exception {
        String now = api();
        if ("write".equals(System.getProperty("rdmaraw.golden"))) {
            Files.createDirectories(FILE.getParent());
            Files.writeString(FILE, now);
        }
        assertTrue(now.contains("class io.rdmaraw.channel.RdmaRawIoHandler "), now);
        assertEquals(Files.readString(FILE), now, "if that is meant: CHANGELOG.md, and"
                + " ./rdma-raw test PublicApiTest -Drdmaraw.golden=write");
    }

    private static String api() throws IOException, ReflectiveOperationException {
        Set<String> exported = exportedPackages();
        StringBuilder text = new StringBuilder();
        for (JavaClass each : new ClassFileImporter().withImportOption(new ImportOption.DoNotIncludeTests())
                .importPackages(exported).stream().sorted(Comparator.comparing(JavaClass::getName)).toList()) {
            Class<?> type = each.reflect();
            if (exported.contains(type.getPackageName()) && (isForOthers(type)
                    || each.getAllSubclasses().stream().anyMatch(other -> isForOthers(other.reflect())))) {
                text.append(describe(type));
            }
        }
        return text.toString();
    }

    private static Set<String> exportedPackages() throws IOException {
        try (var descriptor = Files.newInputStream(Path.of("target", "classes", "module-info.class"))) {
            return ModuleDescriptor.read(descriptor).exports().stream().filter(each -> !each.isQualified())
                    .map(ModuleDescriptor.Exports::source).collect(Collectors.toCollection(TreeSet::new));
        }
    }

    /**
     * Returns whether a class is visible to users. Package-private superclasses of public classes are also listed,
     * because their public members are inherited.
     */
    private static boolean isForOthers(Class<?> type) {
        return (type.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0
                && (type.getEnclosingClass() == null || isForOthers(type.getEnclosingClass()));
    }

    private static String describe(Class<?> type) {
        Set<String> members = new TreeSet<>();
        for (Field field : type.getDeclaredFields()) {
            if (isForOthers(type, field.getModifiers()) && !field.isSynthetic()) {
                members.add(field.toGenericString() + value(field));
            }
        }
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            if (isForOthers(type, constructor.getModifiers()) && !constructor.isSynthetic()) {
                members.add(constructor.toGenericString());
            }
        }
        for (Method method : type.getDeclaredMethods()) {
            if (isForOthers(type, method.getModifiers()) && !method.isSynthetic()) {
                members.add(signature(method));
            }
        }
        String of = type.getGenericSuperclass() == null || type.getSuperclass() == Object.class ? ""
                : " extends " + type.getGenericSuperclass().getTypeName();
        String all = Arrays.stream(type.getGenericInterfaces()).map(java.lang.reflect.Type::getTypeName)
                .collect(Collectors.joining(", "));
        return type.toGenericString() + of + (all.isEmpty() ? "" : " implements " + all) + '\n'
                + members.stream().map(member -> INDENT + member + '\n').collect(Collectors.joining());
    }

    private static boolean isForOthers(Class<?> type, int modifiers) {
        return Modifier.isPublic(modifiers)
                || Modifier.isProtected(modifiers) && !Modifier.isFinal(type.getModifiers());
    }

    /** Returns the signature without modifiers that do not concern callers. */
    private static String signature(Executable method) {
        return method.toGenericString().replace(" synchronized ", " ").replace(" native ", " ");
    }

    /** Returns the value of a constant, which compilers copy into the classes that use it. */
    private static String value(Field field) {
        int constant = Modifier.STATIC | Modifier.FINAL;
        if ((field.getModifiers() & constant) != constant
                || !field.getType().isPrimitive() && field.getType() != String.class) {
            return "";
        }
        try {
            return field.canAccess(null) ? " = " + field.get(null) : "";
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(field.toString(), e);
        }
    }
}
