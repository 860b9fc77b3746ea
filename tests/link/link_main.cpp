// link_main: an empty program; that a whole library links into it is the test.
int main() {}
